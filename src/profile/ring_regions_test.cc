#include <gtest/gtest.h>

#include <functional>
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

// A recorder, and cells as a session publishes them.
class RingRegions : public testing::Test {
 protected:
  RingRegions() {
    importer_.Attach(*record::BlockReader::Open(
        {static_cast<const std::byte*>(recorder_.memory()), recorder_.memory_bytes()}, "test",
        record::BlockReader::Access::kConsume));
  }

  static uint64_t Ticks(int64_t ns) {
    return Clock().anchor_ticks +
           static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ns - Clock().anchor_ns) /
                                                      Clock().ns_per_tick));
  }
  void Put(CellType type, const char* name, int64_t start, int64_t end, uint32_t id,
           uint32_t parent, uint32_t info24 = 0) {
    ASSERT_TRUE(record::Publish(
        ring_, {Ticks(start), Ticks(end), InternName(name), id, parent, PackInfo(type, info24)}));
  }
  static std::vector<Cell> Region(uint64_t id, uint32_t operator_id, int64_t start, int64_t end,
                                  const std::vector<uint32_t>& threads) {
    std::vector<Cell> cells;
    const auto count = static_cast<uint32_t>(threads.size());
    const uint32_t facts = PackInfo(CellType::kRegionFacts, 0);
    const auto from = static_cast<uint64_t>(start);
    const auto to = static_cast<uint64_t>(end);
    cells.push_back(
        {from, to, InternName("2d"), count, operator_id, PackInfo(CellType::kRegion, 7)});
    cells.push_back({id, 0, InternName("f.cc"), 12, InternName("Run"),
                     PackInfo(CellType::kRegionFacts,
                              kRegionNestedFlags | static_cast<uint32_t>(Status::kBelowResolution)
                                                       << record::kRegionProcessCpuShift)});
    cells.push_back({100, 10, 4, count, count, facts});
    cells.push_back({5, 6, 3, 0, InternName("libx.so+0x12"), facts});
    cells.push_back({42, 0, 0, 0, 0, facts});
    for (const uint32_t thread : threads) {
      cells.push_back({from + 1, to - 1, thread, 9, 1, PackInfo(CellType::kRegionPart, 0)});
      cells.push_back(
          {50, 77, 2, static_cast<uint32_t>(-1), 0, PackInfo(CellType::kRegionPart, 0)});
    }
    return cells;
  }
  void PutGroup(const std::vector<Cell>& cells) { ASSERT_TRUE(record::PublishGroup(ring_, cells)); }

  [[nodiscard]] uint64_t Lost(Loss loss) const { return profile_.losses.Get(loss); }
  [[nodiscard]] std::vector<uint32_t> Of(Category category) const {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < profile_.slices.size(); ++i) {
      if (profile_.slices[i].category == category) found.push_back(i);
    }
    return found;
  }

  static constexpr uint32_t kRegionNestedFlags = record::kRegionNestedInline;
  Recorder recorder_ = *Recorder::Start({.events_per_thread = 1024, .max_threads = 4});
  record::ThreadRing* ring_ = record::AttachThread();
  Profile profile_;
  RingImporter importer_{&profile_, 0};
};

TEST_F(RingRegions, BecomesASliceAndOneForEachParticipant) {
  Put(CellType::kKernel, "native_call_mm", kStart, kStart + 900, 3, 2, 7);
  Put(CellType::kOperatorCall, "OPERATOR_CALL", kStart, kStart + 1000, 2, 1, 7);
  PutGroup(Region(11, 3, kStart + 100, kStart + 600, {501, 502}));
  Put(CellType::kRun, "run", kStart - 10, kStart + 2000, 1, 0, 3);
  importer_.Drain();

  const std::vector<uint32_t> regions = Of(Category::kRegion);
  ASSERT_EQ(regions.size(), 1U);
  const Slice& slice = profile_.slices[regions[0]];
  EXPECT_EQ(slice.start_ns, kStart + 100);
  EXPECT_EQ(slice.dur_ns, 500);
  EXPECT_EQ(profile_.Name(slice), "2d");
  ASSERT_NE(slice.parent, kNone);
  EXPECT_EQ(profile_.Name(profile_.slices[slice.parent]), "native_call_mm");
  EXPECT_EQ(profile_.args[slice.args].instruction, 7);
  ASSERT_EQ(profile_.args[slice.args].region, 0U);
  const Track& track = profile_.tracks[slice.track];
  EXPECT_EQ(track.type, TrackType::kRegions);
  EXPECT_EQ(track.name, "parallel regions");
  EXPECT_EQ(profile_.tracks[track.parent].type, TrackType::kThread);

  ASSERT_EQ(profile_.regions.size(), 1U);
  const profile::Region& region = profile_.regions[0];
  EXPECT_EQ(region.id, 11U);
  EXPECT_EQ(region.session, 5U);
  EXPECT_EQ(region.run, 6U);
  EXPECT_EQ(region.executor, 3U);
  EXPECT_EQ(profile_.strings.Get(region.file), "f.cc");
  EXPECT_EQ(profile_.strings.Get(region.function), "Run");
  EXPECT_EQ(profile_.strings.Get(region.code), "libx.so+0x12");
  EXPECT_EQ(region.line, 12U);
  EXPECT_EQ(region.iterations, 100);
  EXPECT_EQ(region.grain, 10);
  EXPECT_EQ(region.requested, 4);
  EXPECT_EQ(region.admitted, 2);
  EXPECT_EQ(region.observed, 2);
  EXPECT_EQ(region.process_cpu_ns, 42U);
  EXPECT_EQ(region.process_cpu_status, Status::kBelowResolution);
  EXPECT_EQ(region.participants_status, Status::kValid);
  EXPECT_TRUE(region.nested_inline);
  EXPECT_FALSE(region.failed);

  const std::vector<uint32_t> parts = Of(Category::kRegionPart);
  ASSERT_EQ(parts.size(), 2U);
  const Slice& part = profile_.slices[parts[1]];
  EXPECT_EQ(part.parent, regions[0]);
  EXPECT_EQ(part.start_ns, kStart + 101);
  EXPECT_EQ(profile_.tracks[part.track].type, TrackType::kParticipant);
  EXPECT_EQ(profile_.tracks[part.track].tid, 502);
  EXPECT_EQ(profile_.tracks[part.track].name, "thread 502 in parallel regions");
  const RegionPart& facts = profile_.region_parts[profile_.args[part.args].region_part];
  EXPECT_EQ(facts.region, 0U);
  EXPECT_EQ(facts.chunks, 9U);
  EXPECT_EQ(facts.migrations, 1U);
  EXPECT_EQ(facts.iterations, 50U);
  EXPECT_EQ(facts.cpu_ns, 77U);
  EXPECT_EQ(facts.first_cpu, 2);
  EXPECT_EQ(facts.last_cpu, -1);

  ASSERT_EQ(profile_.runs.size(), 1U);
  EXPECT_EQ(profile_.runs[0].slice_count, profile_.slices.size());
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 0U);
}

TEST_F(RingRegions, FindTheirOperatorInTheirOwnRunOnly) {
  for (int64_t run = 0; run < 3; ++run) {
    const int64_t start = kStart + run * 10'000;
    const auto id = static_cast<uint32_t>(run * 10);
    Put(CellType::kKernel, "k", start, start + 100, id + 3, id + 1, 7);
    Put(CellType::kKernel, "l", start + 200, start + 300, id + 4, id + 1, 8);
    PutGroup(Region(static_cast<uint64_t>(run * 2 + 1), id + 4, start + 210, start + 290, {5}));
    // What the run before had, which the memory of this one must not have any more.
    PutGroup(Region(static_cast<uint64_t>(run * 2 + 2), id - 6, start + 10, start + 90, {5}));
    Put(CellType::kRun, "run", start - 10, start + 400, id + 1, 0, 3);
    importer_.Drain();
  }
  const std::vector<uint32_t> regions = Of(Category::kRegion);
  ASSERT_EQ(regions.size(), 6U);
  for (size_t i = 0; i < regions.size(); i += 2) {
    const Slice& found = profile_.slices[regions[i]];
    ASSERT_NE(found.parent, kNone);
    EXPECT_EQ(profile_.Name(profile_.slices[found.parent]), "l");
    EXPECT_EQ(profile_.slices[found.parent].start_ns, kStart + int64_t(i) / 2 * 10'000 + 200);
    EXPECT_EQ(profile_.slices[regions[i + 1]].parent, kNone);
  }
  for (const profile::Run& run : profile_.runs) EXPECT_EQ(run.slice_count, 7U);
}

TEST_F(RingRegions, ARunWithoutAnyLeavesNoOperatorToTheNext) {
  Put(CellType::kKernel, "k", kStart, kStart + 100, 3, 1, 7);
  Put(CellType::kRun, "run", kStart - 10, kStart + 400, 1, 0, 3);
  Put(CellType::kKernel, "k", kStart + 1000, kStart + 1100, 13, 11, 7);
  PutGroup(Region(1, 3, kStart + 1010, kStart + 1050, {5}));
  Put(CellType::kRun, "run", kStart + 990, kStart + 1400, 11, 0, 3);
  importer_.Drain();
  EXPECT_EQ(profile_.slices[Of(Category::kRegion).at(0)].parent, kNone);
}

TEST_F(RingRegions, OfARunBeforeAreNotInTheNextOne) {
  // Published after a run that nobody measured, as the check of outputs makes one.
  for (const std::vector<uint32_t>& threads : {std::vector<uint32_t>{}, {5}}) {
    PutGroup(Region(1, 0, kStart, kStart + 50, threads));
    Put(CellType::kRun, "run", kStart + 100, kStart + 200, 9, 0, 1);
    importer_.Drain();
    EXPECT_EQ(profile_.runs.back().slice_count, 1U);
  }
}

TEST_F(RingRegions, OfAScopeThatStillRuns) {
  PutGroup(Region(1, 4, kStart + 10, kStart + 50, {5}));
  importer_.Drain();
  Put(CellType::kScope, "mine", kStart, kStart + 200, 4, 0);
  importer_.Drain();
  const Slice& region = profile_.slices[Of(Category::kRegion).at(0)];
  ASSERT_NE(region.parent, kNone);
  EXPECT_EQ(profile_.Name(profile_.slices[region.parent]), "mine");
}

// A cell of a region changed as no recorder writes it.
struct Damage {
  const char* name;
  std::function<void(std::vector<Cell>&)> bend;
};

class DamagedRegions : public RingRegions, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedRegions, AreLeftOutWhole) {
  std::vector<Cell> cells = Region(1, 0, kStart, kStart + 50, {5, 6});
  GetParam().bend(cells);
  PutGroup(cells);
  PutGroup(Region(2, 0, kStart + 100, kStart + 150, {5}));  // what follows is read
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 1U);
  ASSERT_EQ(profile_.regions.size(), 1U);
  EXPECT_EQ(profile_.regions[0].id, 2U);
  EXPECT_EQ(profile_.region_parts.size(), 1U);
  EXPECT_EQ(profile_.slices.size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(
    Each, DamagedRegions,
    testing::Values(
        Damage{"NoPart", [](auto& cells) { cells.pop_back(); }},
        Damage{"TooManyParts", [](auto& cells) { cells[0].id = 3; }},
        Damage{"TooFewParts",
               [](auto& cells) {
                 cells.pop_back();
                 cells.pop_back();
               }},
        Damage{"EndlessParts", [](auto& cells) { cells[0].id = 0xFFFFFFFF; }},
        Damage{"NoFacts", [](auto& cells) { cells.erase(cells.begin() + 2); }},
        Damage{"StatusOfCpu", [](auto& cells) { cells[6].parent = 200; }},
        Damage{"StatusOfProcess",
               [](auto& cells) { cells[1].info |= 15U << record::kRegionProcessCpuShift; }},
        Damage{"StatusOfParticipants",
               [](auto& cells) { cells[1].info |= 15U << record::kRegionParticipantsShift; }},
        Damage{"ObservedThatAreNotThere", [](auto& cells) { cells[2].parent = 4; }},
        Damage{"NegativeThreads", [](auto& cells) { cells[2].name = 0x80000000; }},
        Damage{"NoId", [](auto& cells) { cells[1].start = 0; }},
        Damage{"EndBeforeStart", [](auto& cells) { cells[0].end = cells[0].start - 1; }},
        Damage{"TimeOutOfRange", [](auto& cells) { cells[0].end = UINT64_MAX; }},
        Damage{"PartEndsBeforeItsStart", [](auto& cells) { cells[7].end = 1; }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace inferprobe::profile
