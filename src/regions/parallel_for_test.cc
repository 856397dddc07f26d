// What events tell of loops whose course the test decides.
#include "inferprobe/parallel_for.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "inferprobe/region.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

using regions::Gate;
using regions::Held;

void Nothing(int64_t, int64_t) {}

// Every participant is here at once: as many chunks as threads, each waits for all.
void RunOnAll(const ExecutorView& view, int threads) {
  Gate gate;
  ParallelFor(view, threads, 1, [&](int64_t, int64_t) { gate.ArriveAndWaitFor(threads); });
}

struct Only {
  ParallelRegionReport report;
  const ParallelRegionEvent* operator->() const { return report.events.data(); }
};
Only TheOnlyEvent(const ParallelRegionCollector& collector) {
  Only only{collector.Report()};
  EXPECT_EQ(only.report.events.size(), 1U);
  EXPECT_EQ(only.report.dropped, 0U);
  return only;
}

TEST(ParallelFor, RunsWithoutCollectorLabelAndLocation) {
  CpuExecutor executor(2);
  std::atomic<int64_t> sum{0};
  ParallelFor(executor, 10, 3, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 10);
}

TEST(ParallelFor, LocationIsTheCallers) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  ParallelFor(view, 1, 1, Nothing);
  const auto line = static_cast<uint32_t>(__LINE__) - 1;
  ParallelFor(view, 1, 1, Nothing, "labelled");

  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 2U);
  EXPECT_EQ(std::string_view(report.events[0].location.file_name()), __FILE__);
  EXPECT_EQ(report.events[0].location.line(), line);
  EXPECT_EQ(report.events[0].label, "");
  EXPECT_EQ(report.events[1].location.line(), line + 2);
  EXPECT_EQ(report.events[1].label, "labelled");
}

TEST(ParallelFor, TellsWhatItWasGiven) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  ParallelFor(ExecutorView(executor, &regions), 10, 4, Nothing);
  const Only event = TheOnlyEvent(regions);
  EXPECT_GT(event->region_id, 0U);
  EXPECT_EQ(event->total_iterations, 10);
  EXPECT_EQ(event->grain_size, 4);
  EXPECT_EQ(event->executor_id, executor.id());
  EXPECT_EQ(event->session_id, 0U);
  EXPECT_EQ(event->run_id, 0U);
  EXPECT_FALSE(event->parent_region_id.has_value());
  EXPECT_FALSE(event->instruction.has_value());
  EXPECT_FALSE(event->operator_slice.has_value());
  EXPECT_FALSE(event->nested_inline);
  EXPECT_FALSE(event->failed);
  EXPECT_EQ(event->wall_status, Status::kValid);
  EXPECT_EQ(event->counters.cycles.status, Status::kNotRequested);
  EXPECT_GT(event->start_ns, 0);
}

TEST(ParallelFor, OnOneThread) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  ParallelFor(ExecutorView(executor, &regions), 10, 4, Nothing);
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->requested_threads, 1);
  EXPECT_EQ(event->admitted_threads, 1);
  EXPECT_EQ(event->observed_threads, 1);
  ASSERT_EQ(event->participants.size(), 1U);
  EXPECT_EQ(event->participants[0].thread_id, event->thread_id);
  EXPECT_EQ(event->participants[0].chunks, 3U);
  EXPECT_EQ(event->participants[0].iterations, 10U);
}

TEST(ParallelFor, OneChunkAdmitsOneOfFour) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions;
  ParallelFor(ExecutorView(executor, &regions), 10, 10, Nothing);
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->requested_threads, 4);
  EXPECT_EQ(event->admitted_threads, 1);
  EXPECT_EQ(event->observed_threads, 1);
}

TEST(ParallelFor, OnAllThreads) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions(RegionCollectorOptions{.participants_per_event = 4});
  RunOnAll(ExecutorView(executor, &regions), 4);
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->requested_threads, 4);
  EXPECT_EQ(event->admitted_threads, 4);
  EXPECT_EQ(event->observed_threads, 4);
  ASSERT_EQ(event->participants.size(), 4U);
  EXPECT_EQ(event->participants[0].thread_id, event->thread_id);  // the caller first
  for (const RegionParticipant& participant : event->participants) {
    EXPECT_EQ(participant.chunks, 1U);
    EXPECT_EQ(participant.iterations, 1U);
    EXPECT_GE(participant.start_ns, event->start_ns);
    // Each sum is rounded for itself.
    EXPECT_LE(participant.start_ns + static_cast<int64_t>(participant.busy_ns),
              event->start_ns + static_cast<int64_t>(event->wall_time_ns) + 2);
#if defined(__linux__)
    EXPECT_GE(participant.first_cpu, 0);
    EXPECT_GE(participant.last_cpu, 0);
#else
    EXPECT_EQ(participant.first_cpu, -1);
#endif
  }
}

TEST(ParallelFor, LimitedToTwoOfFour) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions;
  Gate gate;
  std::atomic<int> first{0};
  ParallelFor(ExecutorView(executor, &regions, 2), 100, 1, [&](int64_t, int64_t) {
    if (first.fetch_add(1) < 2) gate.ArriveAndWaitFor(2);
  });
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->requested_threads, 2);
  EXPECT_EQ(event->admitted_threads, 2);
  EXPECT_EQ(event->observed_threads, 2);
}

TEST(ParallelFor, ALimitAboveTheThreadsIsTheThreads) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  ParallelFor(ExecutorView(executor, &regions, 9), 1, 1, Nothing);
  EXPECT_EQ(TheOnlyEvent(regions)->requested_threads, 2);
}

// One participant gets three of the four iterations: the other stays in its own until they are
// done.
TEST(ParallelFor, OneParticipantWithThreeTimesTheWork) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  const auto caller = std::this_thread::get_id();
  Gate both;
  Gate callers;
  std::atomic<int> first{0};
  ParallelFor(ExecutorView(executor, &regions), 4, 1, [&](int64_t, int64_t) {
    if (first.fetch_add(1) < 2) both.ArriveAndWaitFor(2);
    if (std::this_thread::get_id() == caller) {
      callers.Arrive();
    } else {
      callers.WaitFor(3);
    }
  });
  const Only event = TheOnlyEvent(regions);
  ASSERT_EQ(event->participants.size(), 2U);
  EXPECT_EQ(event->participants[0].iterations, 3U);
  EXPECT_EQ(event->participants[0].chunks, 3U);
  EXPECT_EQ(event->participants[1].iterations, 1U);
  EXPECT_EQ(event->participants[1].chunks, 1U);
}

TEST(ParallelFor, MoreIterationsThanThreadsAreAllCounted) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions(RegionCollectorOptions{.participants_per_event = 4});
  ParallelFor(ExecutorView(executor, &regions), 10'007, 10, Nothing);
  const Only event = TheOnlyEvent(regions);
  uint64_t iterations = 0;
  uint64_t chunks = 0;
  for (const RegionParticipant& participant : event->participants) {
    iterations += participant.iterations;
    chunks += participant.chunks;
  }
  EXPECT_EQ(iterations, 10'007U);
  EXPECT_EQ(chunks, 1'001U);
  EXPECT_EQ(event->observed_threads, static_cast<int32_t>(event->participants.size()));
  EXPECT_GE(event->observed_threads, 1);
  EXPECT_LE(event->observed_threads, event->admitted_threads);
  EXPECT_EQ(event->admitted_threads, 4);  // all were free, whether or not they came in time
}

TEST(ParallelFor, WithoutIterationsNobodyTakesPart) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kCpuClock});
  for (const int64_t total : {int64_t{0}, int64_t{-7}, std::numeric_limits<int64_t>::min()}) {
    regions.Clear();
    ParallelFor(ExecutorView(executor, &regions), total, 0, Nothing);
    const Only event = TheOnlyEvent(regions);
    EXPECT_EQ(event->total_iterations, 0);
    EXPECT_EQ(event->grain_size, 1);
    EXPECT_EQ(event->requested_threads, 2);
    EXPECT_EQ(event->admitted_threads, 0);
    EXPECT_EQ(event->observed_threads, 0);
    EXPECT_TRUE(event->participants.empty());
    EXPECT_FALSE(event->busy_utilization().has_value());
    EXPECT_FALSE(event->imbalance().has_value());
    EXPECT_FALSE(event->cpu_utilization.has_value());
    EXPECT_NE(event->cpu_utilization_status, Status::kValid);
  }
}

TEST(ParallelFor, AnExceptionIsThrownAndItsEventSaysSo) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  EXPECT_THROW(ParallelFor(view, 10, 2,
                           [](int64_t begin, int64_t) {
                             if (begin == 4) throw std::runtime_error("at four");
                           }),
               std::runtime_error);
  const Only event = TheOnlyEvent(regions);
  EXPECT_TRUE(event->failed);
  ASSERT_EQ(event->participants.size(), 1U);
  EXPECT_EQ(event->participants[0].iterations, 4U);  // what ran to its end
  EXPECT_EQ(event->participants[0].chunks, 3U);      // with the one that threw
  // The next loop has no parent left over.
  regions.Clear();
  ParallelFor(view, 1, 1, Nothing);
  EXPECT_FALSE(TheOnlyEvent(regions)->parent_region_id.has_value());
}

TEST(ParallelFor, NestedRunsInlineAndNamesItsParent) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  Gate gate;
  ParallelFor(
      view, 4, 1,
      [&](int64_t begin, int64_t) {
        if (begin < 2) gate.ArriveAndWaitFor(2);  // both threads are here
        ParallelFor(
            view, 3, 1, [&](int64_t, int64_t) { ParallelFor(view, 1, 1, Nothing, "innermost"); },
            "inner");
      },
      "outer");
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 1U + 4 + 12);
  const ParallelRegionEvent& outer = report.events[0];
  ASSERT_EQ(outer.label, "outer");
  EXPECT_FALSE(outer.nested_inline);
  EXPECT_EQ(outer.observed_threads, 2);
  // Back from each loop in its body, a participant is where it was.
  ASSERT_EQ(outer.participants.size(), 2U);
  EXPECT_EQ(outer.participants[0].chunks + outer.participants[1].chunks, 4U);
  for (const ParallelRegionEvent& event : report.events) {
    if (event.label == "outer") continue;
    EXPECT_TRUE(event.nested_inline);
    EXPECT_EQ(event.requested_threads, 2);
    EXPECT_EQ(event.admitted_threads, 1);
    EXPECT_EQ(event.observed_threads, 1);
    ASSERT_TRUE(event.parent_region_id.has_value());
    ASSERT_EQ(event.participants.size(), 1U);
    EXPECT_EQ(event.participants[0].thread_id, event.thread_id);
    EXPECT_TRUE(event.thread_id == outer.participants[0].thread_id ||
                event.thread_id == outer.participants[1].thread_id);
    if (event.label == "inner") {
      EXPECT_EQ(*event.parent_region_id, outer.region_id);
      EXPECT_EQ(event.participants[0].chunks, 3U);
    } else {
      EXPECT_NE(*event.parent_region_id, outer.region_id);
    }
  }
}

// A batch of sessions in one loop: each run's loops are its own, and not the batch's.
TEST(ParallelFor, ARunInsideALoopHasLoopsOfItsOwn) {
  CpuExecutor batch(2);
  CpuExecutor inner(2);
  ParallelRegionCollector regions;
  const ExecutorView outer_view(batch, &regions);
  const ExecutorView view(inner, &regions);
  RegionSession of_batch;
  std::array<RegionSession, 2> sessions;
  const RegionRun batch_run(of_batch);
  const RegionOperator batch_operator(3);
  ParallelFor(
      outer_view, 2, 1,
      [&](int64_t begin, int64_t) {
        {
          const RegionRun run(sessions[static_cast<size_t>(begin)]);
          ParallelFor(view, 1, 1, Nothing, "outside");
          const RegionOperator its_operator(static_cast<int32_t>(begin) + 10);
          ParallelFor(
              view, 2, 1, [&](int64_t, int64_t) { ParallelFor(view, 1, 1, Nothing, "deep"); },
              "inside");
        }
        ParallelFor(view, 1, 1, Nothing, "after");
      },
      "batch");
  std::map<std::string_view, int> seen;
  for (const ParallelRegionEvent& event : regions.Report().events) {
    ++seen[event.label];
    if (event.label == "batch" || event.label == "after") {
      EXPECT_EQ(event.session_id, of_batch.id()) << event.label;
      EXPECT_EQ(event.instruction, 3) << event.label;
      continue;
    }
    const bool first = event.session_id == sessions[0].id();
    EXPECT_TRUE(first || event.session_id == sessions[1].id()) << event.label;
    EXPECT_EQ(event.run_id, 1U);
    if (event.label == "outside") {
      EXPECT_FALSE(event.instruction.has_value());
    } else {
      EXPECT_EQ(event.instruction, first ? 10 : 11) << event.label;
    }
  }
  EXPECT_EQ(seen["outside"], 2);
  EXPECT_EQ(seen["inside"], 2);
  EXPECT_EQ(seen["deep"], 4);
  EXPECT_EQ(seen["after"], 2);
}

TEST(ParallelFor, InsideAnotherExecutorsLoopIsNotInline) {
  CpuExecutor outer(2);
  CpuExecutor inner(2);
  ParallelRegionCollector regions;
  Gate all;
  ParallelFor(
      ExecutorView(outer, &regions), 2, 1,
      [&](int64_t, int64_t) {
        ParallelFor(ExecutorView(inner, &regions), 2, 1, Nothing, "inner");
        all.ArriveAndWaitFor(2);
      },
      "outer");
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 3U);
  for (const ParallelRegionEvent& event : report.events) {
    EXPECT_FALSE(event.nested_inline);
    if (event.label == "inner") {
      EXPECT_EQ(event.parent_region_id, report.events[0].region_id);
    }
  }
}

// Though it met the loop on the other's thread, and has a thread to spare.
TEST(ParallelFor, AnExecutorSeesItselfBehindAnother) {
  CpuExecutor outer(3);
  CpuExecutor between(2);
  ParallelRegionCollector regions;
  Gate both;
  outer.Run(2, 2, [&](int64_t, int64_t) {
    between.Run(2, 1, [&](int64_t, int64_t) {
      both.ArriveAndWaitFor(2);
      ParallelFor(ExecutorView(outer, &regions), 8, 1, Nothing);
    });
  });
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 2U);
  EXPECT_NE(report.events[0].thread_id, report.events[1].thread_id);
  for (const ParallelRegionEvent& event : report.events) {
    EXPECT_TRUE(event.nested_inline);
    EXPECT_EQ(event.requested_threads, 3);
    EXPECT_EQ(event.admitted_threads, 1);
  }
}

// The only other thread is held by another caller's loop: it is not admitted, and not waited for.
TEST(ParallelFor, ConcurrentCallersShareThePool) {
  CpuExecutor executor(2);
  ParallelRegionCollector first;
  ParallelRegionCollector second;
  Held held(ExecutorView(executor, &first));
  ParallelFor(ExecutorView(executor, &second), 100, 1, Nothing);
  held.LetGo();

  const Only all = TheOnlyEvent(first);
  EXPECT_EQ(all->admitted_threads, 2);
  EXPECT_EQ(all->observed_threads, 2);
  const Only rest = TheOnlyEvent(second);
  EXPECT_EQ(rest->requested_threads, 2);
  EXPECT_EQ(rest->admitted_threads, 1);
  EXPECT_EQ(rest->observed_threads, 1);
  EXPECT_NE(rest->thread_id, all->thread_id);
}

// A thread that comes free in time is admitted later.
TEST(ParallelFor, AThreadThatComesFreeTakesPart) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  Held held(executor);
  Gate both;
  ParallelFor(ExecutorView(executor, &regions), 2, 1, [&](int64_t begin, int64_t) {
    if (begin == 0) held.Release();
    both.ArriveAndWaitFor(2);
  });
  held.LetGo();
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->admitted_threads, 2);
  EXPECT_EQ(event->observed_threads, 2);
}

// All chunks are taken by then: the thread finds none.
TEST(ParallelFor, AThreadThatComesFreeTooLateIsNotAdmitted) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions;
  Held held(executor);
  ParallelFor(ExecutorView(executor, &regions), 2, 1, [&](int64_t begin, int64_t) {
    if (begin == 0) return;
    held.Release();
    // On its way to this loop, the thread has been at ours.
    std::thread([&] {
      Gate two;
      executor.Run(2, 1, [&](int64_t, int64_t) { two.ArriveAndWaitFor(2); });
    }).join();
  });
  held.LetGo();
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->requested_threads, 2);
  EXPECT_EQ(event->admitted_threads, 1);
  EXPECT_EQ(event->observed_threads, 1);
}

TEST(ParallelFor, WallLooksAtNoParticipant) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kWall});
  RunOnAll(ExecutorView(executor, &regions), 2);
  const Only event = TheOnlyEvent(regions);
  EXPECT_EQ(event->wall_status, Status::kValid);
  EXPECT_EQ(event->participants_status, Status::kNotRequested);
  EXPECT_EQ(event->process_cpu_status, Status::kNotRequested);
  EXPECT_EQ(event->admitted_threads, 2);
  EXPECT_EQ(event->observed_threads, 0);
  EXPECT_TRUE(event->participants.empty());
  EXPECT_FALSE(event->busy_ns().has_value());
  EXPECT_FALSE(event->idle_core_ns().has_value());
}

}  // namespace
}  // namespace inferprobe
