#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/recorder.h"
#include "profile/ring_import.h"
#include "record/ring_writer.h"

namespace inferprobe::profile {
namespace {

using record::Cell;
using record::CellType;
using record::InternName;
using record::PackInfo;

constexpr int64_t kStart = 1'000'000'000;
constexpr uint32_t kPairOn = static_cast<uint32_t>(RunMode::kPairOn);

// A recorder, and cells as the watch on modules and a worker publish them.
class RingOperators : public testing::Test {
 protected:
  RingOperators() {
    importer_.Attach(*record::BlockReader::Open(
        {static_cast<const std::byte*>(recorder_.memory()), recorder_.memory_bytes()}, "test",
        record::BlockReader::Access::kConsume));
    // Times that ticks and ns say alike.
    base_ns_ = importer_.facts().anchor_ns + kStart;
  }

  static uint64_t Ticks(int64_t ns) {
    return Clock().anchor_ticks +
           static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ns - Clock().anchor_ns) /
                                                      Clock().ns_per_tick));
  }
  void Put(const Cell& cell) { ASSERT_TRUE(record::Publish(ring_, cell)); }
  // Of a thousand ns each, so that rounding to ticks changes no order.
  void PutTicks(CellType type, const char* name, int64_t start, int64_t end, uint32_t id,
                uint32_t parent, uint32_t info24 = 0) {
    Put({Ticks(base_ns_ + start * 1000), Ticks(base_ns_ + end * 1000), InternName(name), id, parent,
         PackInfo(type, info24)});
  }
  [[nodiscard]] uint64_t Ns(int64_t time) const {
    return static_cast<uint64_t>(base_ns_ + time * 1000);
  }
  void PutOperator(const char* name, int64_t start, int64_t end, uint32_t tid) {
    Put({Ns(start), Ns(end), InternName(name), tid, 0, PackInfo(CellType::kOperator, 0)});
  }

  [[nodiscard]] std::string NameOf(uint32_t slice) const {
    return slice == kNone ? "" : std::string(profile_.Name(profile_.slices[slice]));
  }
  [[nodiscard]] const Slice& Named(std::string_view name) const {
    for (const Slice& slice : profile_.slices) {
      if (profile_.Name(slice) == name) return slice;
    }
    static const Slice none;
    ADD_FAILURE() << "no slice " << name;
    return none;
  }
  [[nodiscard]] std::string ParentOf(std::string_view name) const {
    return NameOf(Named(name).parent);
  }
  // Names of a run's slices, in their order.
  [[nodiscard]] std::vector<std::string> SlicesOf(size_t index) const {
    const auto& run = profile_.runs[index];
    std::vector<std::string> names;
    for (uint32_t i = 0; i < run.slice_count; ++i) names.push_back(NameOf(run.first_slice + i));
    return names;
  }
  [[nodiscard]] uint64_t Lost(Loss loss) const { return profile_.losses.Get(loss); }

  const uint32_t tid_ = static_cast<uint32_t>(gettid());
  Recorder recorder_ = *Recorder::Start({.events_per_thread = 1024, .max_threads = 4});
  record::ThreadRing* ring_ = record::AttachThread();
  Profile profile_;
  RingImporter importer_{&profile_, 0};
  int64_t base_ns_ = 0;
};

TEST_F(RingOperators, CallsOfModules) {
  PutTicks(CellType::kModuleCall, "conv", 10, 20, 2, 1, 5);
  PutTicks(CellType::kModuleCall, "raised", 30, 40, 3, 1, 6 | record::kModuleRaised);
  PutTicks(CellType::kModuleCall, "root", 0, 50, 1, 0, 0);
  importer_.Drain();
  ASSERT_EQ(profile_.slices.size(), 3U);
  const Slice& conv = Named("conv");
  EXPECT_EQ(conv.category, Category::kModuleCall);
  EXPECT_EQ(ParentOf("conv"), "root");
  EXPECT_EQ(profile_.args[conv.args].module, 5U);
  EXPECT_FALSE(profile_.args[conv.args].raised);
  EXPECT_EQ(profile_.args[Named("raised").args].module, 6U);
  EXPECT_TRUE(profile_.args[Named("raised").args].raised);
  EXPECT_EQ(profile_.args[Named("root").args].module, 0U);
}

// It holds no tree in which their numbers would be places.
TEST_F(RingOperators, CallsOfModulesInAFileAreOfNone) {
  PutTicks(CellType::kModuleCall, "conv", 10, 20, 2, 1, 1 | record::kModuleRaised);
  const Result<Recording> read = ReadMappedBytes(
      {static_cast<const char*>(recorder_.memory()), recorder_.memory_bytes()}, "killed.ring");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->profile.slices.size(), 1U);
  const Slice& call = read->profile.slices[0];
  EXPECT_EQ(read->profile.Name(call), "conv");
  EXPECT_EQ(read->profile.args[call.args].module, kNone);
  EXPECT_TRUE(read->profile.args[call.args].raised);
}

TEST_F(RingOperators, AreOfTheRunBehindThem) {
  for (const int64_t at : {0, 1000}) {
    const std::string run = at == 0 ? "first" : "second";
    PutTicks(CellType::kModuleCall, ("conv " + run).c_str(), at + 20, at + 40, 2, 1, 1);
    PutTicks(CellType::kMethod, ("forward " + run).c_str(), at + 10, at + 90, 1, 7);
    PutOperator(("conv2d " + run).c_str(), at + 25, at + 35, tid_);
    PutOperator(("backward " + run).c_str(), at + 50, at + 60, tid_ + 1);
    Put({Ns(at + 30), 64, 0, tid_, 0, PackInfo(CellType::kAllocation, 0)});
    Put({Ns(at + 32), static_cast<uint64_t>(-64), 0, tid_, 0, PackInfo(CellType::kAllocation, 1)});
    Put({Ns(at + 300), Ns(at + 400), InternName("gemm " + run), 3, 1,
         PackInfo(CellType::kDeviceWork, 0)});
    PutTicks(CellType::kRun, run.c_str(), at, at + 100, 7, 0, kPairOn);
  }
  importer_.Drain();
  ASSERT_EQ(profile_.runs.size(), 2U);
  using Names = std::vector<std::string>;
  EXPECT_EQ(SlicesOf(0), Names({"conv first", "forward first", "first", "conv2d first",
                                "backward first", "gemm first"}));
  EXPECT_EQ(SlicesOf(1), Names({"conv second", "forward second", "second", "conv2d second",
                                "backward second", "gemm second"}));
  for (const std::string run : {"first", "second"}) {
    EXPECT_EQ(ParentOf("conv2d " + run), "conv " + run);
    EXPECT_EQ(ParentOf("conv " + run), "forward " + run);
    EXPECT_EQ(ParentOf("forward " + run), run);
    EXPECT_EQ(ParentOf("backward " + run), "");
    EXPECT_EQ(ParentOf("gemm " + run), "conv2d " + run);
    EXPECT_EQ(Named("conv2d " + run).track, Named("conv " + run).track);
    EXPECT_NE(Named("backward " + run).track, Named("conv " + run).track);
  }
  ASSERT_EQ(profile_.allocations.size(), 4U);
  EXPECT_EQ(NameOf(profile_.allocations[0].slice), "conv2d first");
  EXPECT_EQ(profile_.allocations[0].bytes, 64);
  EXPECT_FALSE(profile_.allocations[0].device);
  EXPECT_EQ(profile_.allocations[3].bytes, -64);
  EXPECT_TRUE(profile_.allocations[3].device);
  EXPECT_EQ(Named("conv2d first").start_ns, base_ns_ + 25'000);
  for (const Loss loss : {Loss::kOperatorCut, Loss::kOperatorsUnplaced, Loss::kOverlap}) {
    EXPECT_EQ(Lost(loss), 0U) << InfoOf(loss).name;
  }
}

TEST_F(RingOperators, WithoutARunTheyArePlacedAtTheEndOfTheDrain) {
  PutTicks(CellType::kModuleCall, "conv", 20, 40, 2, 1, 1);
  PutOperator("conv2d", 25, 35, tid_);
  PutOperator("around", 15, 45, tid_);
  importer_.Drain();
  EXPECT_EQ(ParentOf("conv2d"), "conv");
  EXPECT_EQ(ParentOf("conv"), "around");
  PutTicks(CellType::kScope, "late", 0, 50, 1, 0);
  importer_.Drain();
  EXPECT_EQ(ParentOf("conv"), "around");  // what came between stays there
}

TEST_F(RingOperators, OfARunThatIsNoneTheyAreInNoOther) {
  PutOperator("of no mode", 10, 20, tid_);
  PutTicks(CellType::kRun, "damaged", 0, 100, 1, 0, 0xF);
  PutOperator("of no time", 210, 220, tid_);
  Put({0, 0, 0, 2, 0, PackInfo(CellType::kRun, kPairOn)});
  PutOperator("good", 310, 320, tid_);
  PutTicks(CellType::kRun, "run", 300, 400, 3, 0, kPairOn);
  importer_.Drain();
  ASSERT_EQ(profile_.runs.size(), 1U);
  EXPECT_EQ(SlicesOf(0), std::vector<std::string>({"run", "good"}));
}

TEST_F(RingOperators, ARunTakesNothingOfTheOneBefore) {
  PutOperator("late", 150, 160, tid_ + 1);  // of the first run, as its profiler says
  PutTicks(CellType::kRun, "first", 0, 100, 1, 0, kPairOn);
  PutTicks(CellType::kRun, "second", 120, 200, 2, 0, kPairOn);
  importer_.Drain();
  ASSERT_EQ(profile_.runs.size(), 2U);
  EXPECT_EQ(SlicesOf(0), std::vector<std::string>({"first", "late"}));
  EXPECT_EQ(SlicesOf(1), std::vector<std::string>({"second"}));
}

struct DamagedCase {
  const char* name;
  Cell cell;
  Loss loss;
};

TEST_F(RingOperators, DamagedCellsAreCountedAndLeaveTheNumbersOfOthers) {
  constexpr uint64_t kLate = std::numeric_limits<uint64_t>::max();
  const uint32_t op = PackInfo(CellType::kOperator, 0);
  const DamagedCase cases[] = {
      {"operator without times", {0, 0, 0, tid_, 0, op}, Loss::kZeroTimes},
      {"operator beyond all time", {Ns(1), kLate, 0, tid_, 0, op}, Loss::kDamagedRecord},
      {"operator that ends first", {Ns(2), Ns(1), 0, tid_, 0, op}, Loss::kEndBeforeStart},
      {"allocation beyond all time",
       {kLate, 1, 0, tid_, 0, PackInfo(CellType::kAllocation, 0)},
       Loss::kDamagedRecord},
      {"allocation nowhere",
       {Ns(1), 1, 0, tid_, 0, PackInfo(CellType::kAllocation, 2)},
       Loss::kDamagedRecord},
      {"work without times", {0, 0, 0, 1, 1, PackInfo(CellType::kDeviceWork, 0)}, Loss::kZeroTimes},
      {"work that ends first",
       {Ns(2), Ns(1), 0, 1, 1, PackInfo(CellType::kDeviceWork, 0)},
       Loss::kEndBeforeStart},
      {"module call that ends first",
       {Ticks(base_ns_ + 9000), Ticks(base_ns_), 0, 1, 0, PackInfo(CellType::kModuleCall, 0)},
       Loss::kEndBeforeStart},
  };
  for (const DamagedCase& one : cases) {
    const uint64_t before = Lost(one.loss);
    Put(one.cell);
    importer_.Drain();
    EXPECT_EQ(Lost(one.loss), before + 1) << one.name;
  }
  EXPECT_TRUE(profile_.slices.empty());
  EXPECT_TRUE(profile_.allocations.empty());
  EXPECT_EQ(Lost(Loss::kOperatorsUnplaced), 0U);

  Put(cases[2].cell);
  PutOperator("good", 10, 20, tid_);
  Put({Ns(30), Ns(40), InternName("of good"), 1, 2, PackInfo(CellType::kDeviceWork, 0)});
  Put({Ns(30), Ns(40), InternName("of the damaged"), 1, 1, PackInfo(CellType::kDeviceWork, 0)});
  importer_.Drain();
  EXPECT_EQ(ParentOf("of good"), "good");
  EXPECT_EQ(ParentOf("of the damaged"), "");
}

}  // namespace
}  // namespace inferprobe::profile
