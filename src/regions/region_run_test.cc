// Whose regions they are: sessions, runs, operators, and who is told.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

using regions::Gate;

void Nothing(int64_t, int64_t) {}

TEST(RegionRun, CountsTheSessionsRuns) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  RegionSession session;
  {
    const RegionRun run(session);
    ParallelFor(view, 1, 1, Nothing, "first");
    const RegionOperator op(7);
    ParallelFor(view, 1, 1, Nothing, "in 7");
    {
      const RegionOperator inner(0);
      ParallelFor(view, 1, 1, Nothing, "in 0");
    }
    ParallelFor(view, 1, 1, Nothing, "in 7 again");
  }
  {
    const RegionRun run(session);
    EXPECT_EQ(run.id(), 2U);
    ParallelFor(view, 1, 1, Nothing, "second");
  }
  ParallelFor(view, 1, 1, Nothing, "outside");

  struct Seen {
    std::string_view label;
    uint64_t session;
    uint64_t run;
    std::optional<int32_t> instruction;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  const ParallelRegionReport report = regions.Report();
  for (const ParallelRegionEvent& event : report.events) {
    seen.push_back({event.label, event.session_id, event.run_id, event.instruction});
  }
  const uint64_t id = session.id();
  EXPECT_GT(id, 0U);
  EXPECT_EQ(seen, (std::vector<Seen>{{"first", id, 1, {}},
                                     {"in 7", id, 1, 7},
                                     {"in 0", id, 1, 0},
                                     {"in 7 again", id, 1, 7},
                                     {"second", id, 2, {}},
                                     {"outside", 0, 0, {}}}));
}

// The thread knows nothing of the session; the loop that it works for does.
TEST(RegionRun, IsTheSameInNestedLoopsOfOtherThreads) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  RegionSession session;
  const RegionRun run(session);
  const RegionOperator op(3);
  Gate gate;
  ParallelFor(view, 2, 1, [&](int64_t, int64_t) {
    gate.ArriveAndWaitFor(2);
    ParallelFor(view, 1, 1, Nothing);
  });
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 3U);
  EXPECT_NE(report.events[1].thread_id, report.events[2].thread_id);
  for (const ParallelRegionEvent& event : report.events) {
    EXPECT_EQ(event.session_id, session.id());
    EXPECT_EQ(event.run_id, 1U);
    EXPECT_EQ(event.instruction, 3);
  }
}

// Two at once, each with a collector of its own, on one pool.
TEST(RegionRun, ConcurrentSessionsAreKeptApart) {
  constexpr int kRuns = 50;
  CpuExecutor executor(3);
  struct One {
    RegionSession session;
    ParallelRegionCollector regions;
  } both[2];
  EXPECT_NE(both[0].session.id(), both[1].session.id());
  std::vector<std::thread> threads;
  for (One& one : both) {
    threads.emplace_back([&executor, &one] {
      for (int i = 0; i < kRuns; ++i) {
        const RegionRun run(one.session);
        const ExecutorView view(executor, &one.regions);
        ParallelFor(view, 4, 1,
                    [&](int64_t, int64_t) { ParallelFor(view, 2, 1, Nothing, "inner"); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (One& one : both) {
    const ParallelRegionReport report = one.regions.Report();
    ASSERT_EQ(report.events.size(), size_t{kRuns * 5});
    std::vector<int> of_run(kRuns + 1);
    for (const ParallelRegionEvent& event : report.events) {
      EXPECT_EQ(event.session_id, one.session.id());
      ASSERT_TRUE(event.run_id >= 1 && event.run_id <= kRuns);
      ++of_run[event.run_id];
      EXPECT_EQ(event.nested_inline, event.label == "inner");
    }
    for (int run = 1; run <= kRuns; ++run) EXPECT_EQ(of_run[static_cast<size_t>(run)], 5);
  }
}

}  // namespace
}  // namespace inferprobe
