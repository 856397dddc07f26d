#include "inferprobe/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

using regions::Gate;
using regions::Held;
using Range = std::pair<int64_t, int64_t>;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

std::vector<Range> RangesOf(CpuExecutor& executor, int64_t total, int64_t grain) {
  std::mutex mutex;
  std::vector<Range> ranges;
  executor.Run(total, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

struct Split {
  const char* name;
  int64_t total;
  int64_t grain;
  std::vector<Range> ranges;
};

class Splits : public testing::TestWithParam<Split> {};

TEST_P(Splits, AreTheSameOnOneThreadAndOnFour) {
  CpuExecutor alone(1);
  CpuExecutor four(4);
  EXPECT_EQ(RangesOf(alone, GetParam().total, GetParam().grain), GetParam().ranges);
  EXPECT_EQ(RangesOf(four, GetParam().total, GetParam().grain), GetParam().ranges);
}

INSTANTIATE_TEST_SUITE_P(
    Executor, Splits,
    testing::Values(
        Split{"Even", 4, 2, {{0, 2}, {2, 4}}},
        Split{"TheLastIsShorter", 5, 2, {{0, 2}, {2, 4}, {4, 5}}},
        Split{"GrainAboveTotal", 3, 100, {{0, 3}}}, Split{"GrainZeroIsOne", 2, 0, {{0, 1}, {1, 2}}},
        Split{"GrainBelowZeroIsOne", 2, std::numeric_limits<int64_t>::min(), {{0, 1}, {1, 2}}},
        Split{"Nothing", 0, 1, {}}, Split{"LessThanNothing", -5, 1, {}},
        Split{"TheLargestTotal",
              kMost,
              kMost / 2,
              {{0, kMost / 2}, {kMost / 2, kMost - 1}, {kMost - 1, kMost}}},
        Split{"TheLargestGrain", kMost, kMost, {{0, kMost}}}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(Executor, HasTheThreadsThatItWasAskedFor) {
  EXPECT_EQ(CpuExecutor(1).threads(), 1);
  EXPECT_EQ(CpuExecutor(5).threads(), 5);
  const int machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(CpuExecutor().threads(), machine);
  EXPECT_EQ(CpuExecutor(-3).threads(), machine);
}

TEST(Executor, IdsAreUnique) { EXPECT_NE(CpuExecutor(1).id(), CpuExecutor(1).id()); }

// Each chunk waits for as many as there are threads: with fewer the test would not end.
TEST(Executor, RunsOnAllItsThreadsAtOnce) {
  CpuExecutor executor(4);
  for (int round = 0; round < 20; ++round) {
    Gate gate;
    std::mutex mutex;
    std::set<std::thread::id> threads;
    executor.Run(4, 1, [&](int64_t, int64_t) {
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      gate.ArriveAndWaitFor(4);
    });
    EXPECT_EQ(threads.size(), 4U);
    EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
  }
}

TEST(Executor, KeepsToItsLimit) {
  CpuExecutor executor(4);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  for (int round = 0; round < 50; ++round) {
    executor.Run(
        64, 1,
        [&](int64_t, int64_t) {
          const int now = ++inside;
          int seen = most.load();
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          --inside;
        },
        2);
  }
  EXPECT_LE(most.load(), 2);
}

TEST(Executor, ThrowsWhatTheBodyThrowsWhenAllHaveEnded) {
  CpuExecutor executor(2);
  Gate both;
  Gate thrown;
  std::atomic<bool> other_ended{false};
  std::atomic<int> chunks{0};
  EXPECT_THROW(executor.Run(1'000'000, 1,
                            [&](int64_t begin, int64_t) {
                              ++chunks;
                              if (begin > 1) return;
                              both.ArriveAndWaitFor(2);
                              if (begin == 0) {
                                thrown.Arrive();
                                throw std::runtime_error("the first");
                              }
                              thrown.WaitFor(1);
                              std::this_thread::yield();
                              other_ended = true;
                            }),
               std::runtime_error);
  EXPECT_TRUE(other_ended.load());
  EXPECT_GE(chunks.load(), 2);
  // And works as before.
  EXPECT_EQ(RangesOf(executor, 3, 1).size(), 3U);
}

TEST(Executor, DoesNotRunWhatNobodyTookWhenTheBodyThrew) {
  CpuExecutor alone(1);
  int chunks = 0;
  EXPECT_THROW(alone.Run(10, 1,
                         [&](int64_t begin, int64_t) {
                           ++chunks;
                           if (begin == 3) throw std::runtime_error("at three");
                         }),
               std::runtime_error);
  EXPECT_EQ(chunks, 4);

  // Both threads throw at once: one error comes out, and of 1,000 chunks only theirs have run.
  CpuExecutor two(2);
  Gate gate;
  std::atomic<int> run{0};
  EXPECT_THROW(two.Run(1000, 1,
                       [&](int64_t, int64_t) {
                         ++run;
                         gate.ArriveAndWaitFor(2);
                         throw std::runtime_error("both");
                       }),
               std::runtime_error);
  EXPECT_EQ(run.load(), 2);
}

TEST(Executor, StopsForAnotherThreadsException) {
  CpuExecutor executor(2);
  const auto caller = std::this_thread::get_id();
  Gate both;
  std::atomic<int> run{0};
  EXPECT_THROW(executor.Run(1000, 1,
                            [&](int64_t, int64_t) {
                              ++run;
                              both.ArriveAndWaitFor(2);
                              if (std::this_thread::get_id() != caller) {
                                throw std::runtime_error("the other thread's");
                              }
                              // Ends when the other thread is free again, having left this loop.
                              std::thread([&] {
                                Gate two;
                                executor.Run(2, 1,
                                             [&](int64_t, int64_t) { two.ArriveAndWaitFor(2); });
                              }).join();
                            }),
               std::runtime_error);
  EXPECT_EQ(run.load(), 2);
}

TEST(Executor, RunsALoopInALoopOnTheThreadThatMetIt) {
  CpuExecutor executor(4);
  std::atomic<int> elsewhere{0};
  std::atomic<int> chunks{0};
  executor.Run(8, 1, [&](int64_t, int64_t) {
    const auto here = std::this_thread::get_id();
    executor.Run(16, 1, [&](int64_t, int64_t) {
      ++chunks;
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  EXPECT_EQ(chunks.load(), 8 * 16);
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST(Executor, ServesManyCallersAtOnce) {
  CpuExecutor executor(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  callers.reserve(6);
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        executor.Run(10, 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 6 * 200 * 45);
}

// Threads that were woken for a loop and came after its end are free for the next one. How many of
// the loops end before that, the machine decides; in the end all threads are free.
TEST(Executor, AWakeUpThatCameTooLateIsForgotten) {
  CpuExecutor executor(4);
  for (int i = 0; i < 2000; ++i) executor.Run(4, 1, [](int64_t, int64_t) {});
  ParallelRegionCollector regions;
  ParallelFor(ExecutorView(executor, &regions), 4, 1, [](int64_t, int64_t) {});
  EXPECT_EQ(regions.Report().events.at(0).admitted_threads, 4);
}

// A caller whose loop is done does not wait for threads that never came.
TEST(Executor, DoesNotWaitForBusyThreads) {
  CpuExecutor executor(2);
  Held held(executor);
  EXPECT_EQ(RangesOf(executor, 5, 1).size(), 5U);
  held.LetGo();
}

}  // namespace
}  // namespace inferprobe
