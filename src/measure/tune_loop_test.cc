#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"
#include "inferprobe/tune.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

void Spin(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

// A loop of which one grain takes a thousand times as long as the other.
LoopTuningOptions TwoGrains() {
  LoopTuningOptions options;
  options.candidates = {{.grain = 1}, {.grain = 8}};
  options.rounds = 4;
  options.block_s = 1e-5;
  return options;
}
void SlowAtGrain1(const ExecutorView& view, int64_t grain) {
  ParallelFor(view, 8, grain, [&](int64_t begin, int64_t end) {
    if (end - begin == 1) Spin(std::chrono::microseconds(500));
  });
}

TEST(TuneLoop, TheClockDecides) {
  CpuExecutor executor(2);
  const auto tuning = TuneLoop(executor, SlowAtGrain1, TwoGrains());
  ASSERT_TRUE(tuning) << tuning.error().message;
  ASSERT_EQ(tuning->rows.size(), 2u);
  EXPECT_EQ(tuning->rows[0].verdict, "baseline");
  EXPECT_EQ(tuning->rows[1].verdict, "faster");
  EXPECT_LT(tuning->rows[1].ratio_high, 1);
  EXPECT_LT(tuning->rows[1].loop_ns, tuning->rows[0].loop_ns);
  EXPECT_DOUBLE_EQ(tuning->confidence, 0.95);
  EXPECT_FALSE(tuning->recommendation.empty());
  // Explained by a run that was looked at.
  ASSERT_TRUE(tuning->rows[0].busy_utilization);
  EXPECT_GT(*tuning->rows[0].busy_utilization, 0);
  ASSERT_TRUE(tuning->rows[0].idle_core_ns);
}

TEST(TuneLoop, WrongOutputsDoNotWin) {
  CpuExecutor executor(1);
  int64_t last_grain = 0;
  LoopTuningOptions options = TwoGrains();
  options.outputs_are_right = [&] { return last_grain == 1; };
  const auto tuning = TuneLoop(
      executor,
      [&](const ExecutorView& view, int64_t grain) {
        last_grain = grain;
        SlowAtGrain1(view, grain);
      },
      options);
  ASSERT_TRUE(tuning) << tuning.error().message;
  EXPECT_EQ(tuning->rows[1].verdict, "wrong_outputs");
  EXPECT_EQ(tuning->rows[0].outputs_are_right, true);
  EXPECT_EQ(tuning->rows[1].outputs_are_right, false);
  EXPECT_FALSE(tuning->best);
  EXPECT_EQ(tuning->recommendation.find("not checked"), std::string::npos);
}

TEST(TuneLoop, OutputsThatNobodyCheckedAreNotRight) {
  CpuExecutor executor(1);
  const auto tuning = TuneLoop(executor, SlowAtGrain1, TwoGrains());
  ASSERT_TRUE(tuning) << tuning.error().message;
  EXPECT_EQ(tuning->rows[1].outputs_are_right, std::nullopt);
  const std::string& text = tuning->recommendation;
  EXPECT_TRUE(text.ends_with("; outputs not checked")) << text;
}

void Nothing(int64_t, int64_t) {}

// Of the regions that the loop of a run has, some are not known.
struct Unknown {
  const char* name;
  int threads;
  void (*loop)(const ExecutorView& view, int64_t grain);
};

class NotAllKnown : public testing::TestWithParam<Unknown> {};

TEST_P(NotAllKnown, IsNoExplanation) {
  CpuExecutor executor(GetParam().threads);
  LoopTuningOptions options = TwoGrains();
  options.rounds = 3;
  const auto tuning = TuneLoop(executor, GetParam().loop, options);
  ASSERT_TRUE(tuning) << tuning.error().message;
  EXPECT_FALSE(tuning->rows[0].busy_utilization);
  EXPECT_FALSE(tuning->rows[0].idle_core_ns);
}

INSTANTIATE_TEST_SUITE_P(
    TuneLoop, NotAllKnown,
    testing::Values(Unknown{"MoreThanTheCollectorHolds", 1,
                            [](const ExecutorView& view, int64_t) {
                              for (size_t i = 0; i <= RegionCollectorOptions{}.capacity; ++i) {
                                ParallelFor(view, 1, 1, Nothing);
                              }
                            }},
                    Unknown{"MoreParticipantsThanPlaces",
                            std::max(8, static_cast<int>(std::thread::hardware_concurrency())) + 1,
                            [](const ExecutorView& view, int64_t) {
                              ParallelFor(view, 1, 1, Nothing);  // that alone would be
                              regions::Gate all;
                              const int threads = view.executor().threads();
                              ParallelFor(view, threads, 1,
                                          [&](int64_t, int64_t) { all.ArriveAndWaitFor(threads); });
                            }}),
    [](const auto& param_info) { return param_info.param.name; });

// Both threads work, and all that one executor does is done in a body of the other's.
TEST(TuneLoop, ARegionInAnotherIsInNoSum) {
  CpuExecutor executor(2);
  CpuExecutor inner(4);
  LoopTuningOptions options = TwoGrains();
  options.candidates = {{.grain = 1}};
  uint64_t wall_ns = 0;
  const auto tuning = TuneLoop(
      executor,
      [&](const ExecutorView& view, int64_t grain) {
        const auto from = std::chrono::steady_clock::now();
        ParallelFor(view, 1, grain, [&](int64_t, int64_t) {
          // Four threads asked for, of which three do nothing: three times as long.
          ParallelFor(ExecutorView(inner, view.regions()), 1, 1,
                      [](int64_t, int64_t) { Spin(std::chrono::microseconds(100)); });
        });
        if (view.regions() == nullptr) return;
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - from;
        wall_ns = static_cast<uint64_t>(took.count());
      },
      options);
  ASSERT_TRUE(tuning) << tuning.error().message;
  ASSERT_TRUE(tuning->rows[0].idle_core_ns);
  EXPECT_GE(*tuning->rows[0].idle_core_ns, 100'000U);     // of the outer one's second thread
  EXPECT_LE(*tuning->rows[0].idle_core_ns, 2 * wall_ns);  // with the inner one's it were 4 times
}

TEST(TuneLoop, GivesTheLimitOfThreadsToTheLoop) {
  CpuExecutor executor(3);
  LoopTuningOptions options = TwoGrains();
  options.candidates = {{.grain = 1, .threads = 1}, {.grain = 1, .threads = 2}, {.grain = 1}};
  std::vector<int> limits;
  const auto tuning = TuneLoop(
      executor,
      [&](const ExecutorView& view, int64_t) {
        if (limits.empty() || limits.back() != view.limit()) limits.push_back(view.limit());
      },
      options);
  ASSERT_TRUE(tuning) << tuning.error().message;
  ASSERT_GE(limits.size(), 3u);
  EXPECT_EQ(limits[0], 1);
  EXPECT_EQ(limits[1], 2);
  EXPECT_EQ(limits[2], 0);
  // No region was seen: nothing explains it, and that is no zero.
  EXPECT_FALSE(tuning->rows[0].busy_utilization);
  EXPECT_FALSE(tuning->rows[0].idle_core_ns);
}

TEST(TuneLoop, RefusesWhatItCannotDo) {
  CpuExecutor executor(1);
  const auto refused = [&](auto change) {
    LoopTuningOptions options = TwoGrains();
    change(options);
    const auto tuning = TuneLoop(executor, SlowAtGrain1, options);
    return tuning ? std::string("taken") : tuning.error().message;
  };
  EXPECT_EQ(refused([](auto& o) { o.candidates.clear(); }), "there are no candidates");
  EXPECT_EQ(refused([](auto& o) { o.rounds = 2; }), "2 rounds are too few: 3 are needed");
  EXPECT_EQ(refused([](auto& o) { o.candidates[1].grain = 0; }), "a grain of 0 is below 1");
  EXPECT_EQ(refused([](auto& o) { o.candidates[1].threads = -1; }), "-1 threads are below 0");
  EXPECT_EQ(refused([](auto& o) { o.block_s = 0; }), "a block of 0 s is not in 0 to 3600");
  EXPECT_EQ(refused([](auto& o) { o.outputs_are_right = [] { return false; }; }),
            "the outputs of grain 1 are wrong, and the others are compared with it");
  EXPECT_EQ(TuneLoop(executor, nullptr, TwoGrains()).error().message, "there is no loop to tune");
}

TEST(TuneLoop, ThrowsOnWhatTheLoopThrows) {
  CpuExecutor executor(2);
  const auto throws = [](const ExecutorView& view, int64_t grain) {
    ParallelFor(view, 8, grain, [](int64_t, int64_t) { throw std::runtime_error("no"); });
  };
  EXPECT_THROW((void)TuneLoop(executor, throws, TwoGrains()), std::runtime_error);
}

}  // namespace
}  // namespace inferprobe
