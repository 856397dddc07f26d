#include "measure/run_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inferprobe/recorder.h"
#include "profile/ring_import.h"
#include "record/block_reader.h"

namespace inferprobe::measure {
namespace {

using profile::RunMode;

// Counts its runs, and can record cells in observed ones or fail in one.
class CountingEngine final : public Engine {
 public:
  const profile::ModelFacts& model() const override { return model_; }
  const profile::EngineFacts& engine() const override { return engine_; }
  profile::MemoryFacts memory() const override { return {}; }
  std::vector<TensorSpec> inputs() const override { return {}; }
  Result<void> SetInputs(std::vector<Tensor> /*inputs*/) override { return {}; }
  Result<void> PrepareObserved() override { return {}; }
  Result<void> BeforeObservedRun() override {
    steps += "(";
    return {};
  }
  Result<void> AfterObservedRun() override {
    steps += ")";
    if (fail_after) return MakeError(ErrorCode::kEngine, "after");
    return {};
  }
  Result<void> Run(const RunView& view) override {
    ++runs;
    steps += view.observed ? "o" : ".";
    observed_runs += view.observed ? 1 : 0;
    if (runs == fail_at) return MakeError(ErrorCode::kEngine, "no");
    for (uint32_t i = 0; view.observed && i < cells; ++i) {
      internal::ThreadRing* ring = record::AttachThread();
      const record::OpenedSlice slice = record::OpenSlice(ring);
      const uint64_t start = NowTicks();
      record::CloseSlice(ring, slice);
      record::Publish(ring, {start, NowTicks(), 0, slice.id, slice.parent,
                             record::PackInfo(record::CellType::kOther, i)});
    }
    return {};
  }
  Result<std::vector<Tensor>> Outputs(bool /*observed*/) override { return std::vector<Tensor>{}; }

  uint64_t runs = 0;
  uint64_t observed_runs = 0;
  uint64_t fail_at = 0;
  uint32_t cells = 0;
  std::string steps;
  bool fail_after = false;

 private:
  profile::ModelFacts model_;
  profile::EngineFacts engine_;
};

class RunLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RecorderOptions options;
    options.events_per_thread = 1024;
    auto started = Recorder::Start(options);
    ASSERT_TRUE(started);
    recorder_.emplace(std::move(*started));
    importer_.emplace(&profile_, uint16_t{0});
    auto reader = record::BlockReader::Open(
        {static_cast<const std::byte*>(recorder_->memory()), recorder_->memory_bytes()}, "test",
        record::BlockReader::Access::kConsume);
    ASSERT_TRUE(reader);
    importer_->Attach(std::move(*reader));
    RunLoop::Callbacks callbacks;
    callbacks.drain = [this]() -> Result<void> {
      ++drains_;
      importer_->Drain();
      return {};
    };
    callbacks.block_begin = [this] { ++blocks_; };
    callbacks.block_end = []() -> Result<void> { return {}; };
    callbacks.run_cost = [] { return profile::RunDisturbance{1, 2, 3, 4, 5}; };
    loop_.emplace(&engine_, record::AttachThread(), std::vector<RunHook*>{&hook_},
                  std::move(callbacks));
  }

  uint64_t CountRuns(RunMode mode) {
    importer_->Drain();
    return static_cast<uint64_t>(
        std::count_if(profile_.runs.begin(), profile_.runs.end(),
                      [&](const profile::Run& run) { return run.mode == mode; }));
  }

  struct Hook final : RunHook {
    void BeforeRun(RunMode /*mode*/) override { ++before; }
    void AfterRun(RunMode /*mode*/) override { ++after; }
    uint64_t before = 0;
    uint64_t after = 0;
  };

  CountingEngine engine_;
  Hook hook_;
  profile::Profile profile_;
  std::optional<Recorder> recorder_;
  std::optional<profile::RingImporter> importer_;
  std::optional<RunLoop> loop_;
  uint64_t drains_ = 0;
  uint64_t blocks_ = 0;
};

TEST_F(RunLoopTest, TheEngineIsToldBeforeAndAfterEachObservedRun) {
  ASSERT_TRUE(loop_->Run(RunMode::kPairOn));
  ASSERT_TRUE(loop_->Run(RunMode::kLatency));
  EXPECT_EQ(engine_.steps, "(o).");
  engine_.fail_at = 3;
  EXPECT_EQ(loop_->Run(RunMode::kPairOn).error().message, "no");
  EXPECT_EQ(engine_.steps, "(o).(o)");
  engine_.fail_after = true;
  EXPECT_EQ(loop_->Run(RunMode::kPairOn).error().message, "after");
}

TEST_F(RunLoopTest, EndsAtExactlyTheNumberOfRuns) {
  auto samples = loop_->Runs(RunMode::kLatency, {.runs = 12345}, {});
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->size(), 12345U);
  EXPECT_EQ(engine_.runs, 12345U);
  EXPECT_EQ(hook_.before, 12345U);
  EXPECT_EQ(hook_.after, 12345U);
  EXPECT_EQ(CountRuns(RunMode::kLatency), 12345U);
  EXPECT_EQ(profile_.losses.Get(profile::Loss::kRingDropped), 0U);
  EXPECT_GT(drains_, 10U);  // a ring of 1,024 cells holds some 500 runs
}

TEST_F(RunLoopTest, SamplesAreThePublishedRuns) {
  auto samples = loop_->Runs(RunMode::kLatency, {.runs = 50}, {});
  ASSERT_TRUE(samples);
  importer_->Drain();
  ASSERT_EQ(profile_.runs.size(), 50U);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(profile_.runs[i].dur_ns, (*samples)[i]);
  EXPECT_EQ(profile_.runs[7].disturbance.run_queue_delay_ns, 1);
  EXPECT_EQ(profile_.runs[7].disturbance.major_faults, 2U);
  EXPECT_EQ(profile_.runs[7].disturbance.minor_faults, 3U);
  EXPECT_EQ(profile_.runs[7].disturbance.involuntary_switches, 4U);
  EXPECT_EQ(profile_.runs[7].disturbance.voluntary_switches, 5U);
}

TEST_F(RunLoopTest, TriplesHoldEachModeOnceInChangingOrder) {
  auto triples = loop_->Triples(1, {.runs = 200});
  ASSERT_TRUE(triples);
  EXPECT_EQ(*triples, 200U);
  EXPECT_EQ(CountRuns(RunMode::kPairOff), 200U);
  EXPECT_EQ(CountRuns(RunMode::kPairNull), 200U);
  EXPECT_EQ(CountRuns(RunMode::kPairOn), 200U);
  EXPECT_EQ(engine_.observed_runs, 400U);  // each with one that settles before it
  std::vector<profile::Run> measured;
  for (size_t i = 0; i < profile_.runs.size(); ++i) {
    if (profile_.runs[i].mode < RunMode::kPairOff) continue;
    const bool observed = profile_.runs[i].mode == RunMode::kPairOn;
    EXPECT_EQ(profile_.runs[i - 1].mode, observed ? RunMode::kSettleOn : RunMode::kSettle);
    measured.push_back(profile_.runs[i]);
  }
  ASSERT_EQ(measured.size(), 600U);
  std::array<int, 3> first{};
  for (size_t i = 0; i < measured.size(); i += 3) {
    std::array<bool, 3> seen{};
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(measured[i + k].group, i / 3 + 1);
      seen[static_cast<size_t>(measured[i + k].mode) - static_cast<size_t>(RunMode::kPairOff)] =
          true;
    }
    EXPECT_TRUE(seen[0] && seen[1] && seen[2]) << "triple " << i / 3;
    ++first[static_cast<size_t>(measured[i].mode) - static_cast<size_t>(RunMode::kPairOff)];
  }
  for (const int count : first) EXPECT_GT(count, 30);  // 67 expected; 30 is 5 sigma away
}

TEST_F(RunLoopTest, AnObservedRunsInsideBelongsToIt) {
  engine_.cells = 10;
  ASSERT_TRUE(loop_->Triples(1, {.runs = 3}));
  importer_->Drain();
  for (const profile::Run& run : profile_.runs) {
    const bool observed = run.mode == RunMode::kPairOn || run.mode == RunMode::kSettleOn;
    EXPECT_EQ(run.slice_count, observed ? 11U : 1U);
  }
}

TEST_F(RunLoopTest, ARuleStopsBetweenBlocksAndTheTimeLimitNeverBeforeTheFewest) {
  auto by_rule = loop_->Runs(RunMode::kLatency, {}, [](const auto& samples, int64_t /*elapsed*/) {
    return samples.size() >= 1000;
  });
  ASSERT_TRUE(by_rule);
  EXPECT_GE(by_rule->size(), 1000U);
  auto by_time = loop_->Runs(RunMode::kLatency, {.ns = 0, .at_least = 3}, {});
  ASSERT_TRUE(by_time);
  EXPECT_EQ(by_time->size(), 3U);
}

TEST_F(RunLoopTest, AFailingRunEndsTheLoopWithItsError) {
  engine_.fail_at = 5;
  auto samples = loop_->Runs(RunMode::kLatency, {.runs = 100}, {});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "no");
  EXPECT_EQ(CountRuns(RunMode::kLatency), 4U);
}

TEST_F(RunLoopTest, ADrainIsASliceOfItsOwn) {
  ASSERT_TRUE(loop_->Drain());
  importer_->Drain();
  ASSERT_EQ(profile_.slices.size(), 1U);
  EXPECT_EQ(profile_.Name(profile_.slices[0]), "inferprobe.drain");
}

TEST(EngineRelease, HooksHearOfItAfterTheEngineIsGoneAlsoOnAnEarlyReturn) {
  struct Hook final : RunHook {
    explicit Hook(const bool* engine_gone) : gone(engine_gone) {}
    void EngineReleased() override { heard += *gone ? 1 : 100; }
    const bool* gone;
    int heard = 0;
  };
  bool gone = false;
  Hook hook(&gone);
  const auto fails = [&]() -> Result<void> {
    const EngineRelease release([&] { gone = true; }, {&hook});
    return MakeError(ErrorCode::kEngine, "no");
  };
  EXPECT_FALSE(fails());
  EXPECT_EQ(hook.heard, 1);
}

TEST_F(RunLoopTest, ARunThatOverflowsTheRingIsKeptAndMarked) {
  engine_.cells = 2000;  // the ring holds 1,024
  auto ran = loop_->Run(RunMode::kPairOn, 1);
  ASSERT_TRUE(ran);
  importer_->Drain();
  ASSERT_EQ(profile_.runs.size(), 1U);
  EXPECT_TRUE(profile_.runs[0].incomplete);
  EXPECT_GT(profile_.losses.Get(profile::Loss::kRingDropped), 900U);
  engine_.cells = 10;
  ASSERT_TRUE(loop_->Run(RunMode::kPairOn, 2));
  importer_->Drain();
  ASSERT_EQ(profile_.runs.size(), 2U);
  EXPECT_FALSE(profile_.runs[1].incomplete);
}

}  // namespace
}  // namespace inferprobe::measure
