#include "regions/collector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "inferprobe/parallel_for.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

using regions::Gate;

void Nothing(int64_t, int64_t) {}

void RunMany(ParallelRegionCollector* regions, int loops) {
  CpuExecutor executor(1);
  const ExecutorView view(executor, regions);
  for (int i = 0; i < loops; ++i) ParallelFor(view, 3, 1, Nothing);
}

TEST(Collector, KeepsTheFirstAndCountsTheRest) {
  ParallelRegionCollector regions(RegionCollectorOptions{.capacity = 3});
  EXPECT_EQ(regions.capacity(), 3U);
  RunMany(&regions, 3);
  EXPECT_EQ(regions.dropped(), 0U);
  RunMany(&regions, 2);
  const ParallelRegionReport report = regions.Report();
  EXPECT_EQ(report.events.size(), 3U);
  EXPECT_EQ(report.dropped, 2U);
  EXPECT_EQ(regions.dropped(), 2U);

  regions.Clear();
  EXPECT_EQ(regions.Report().events.size(), 0U);
  EXPECT_EQ(regions.dropped(), 0U);
  RunMany(&regions, 4);
  EXPECT_EQ(regions.Report().events.size(), 3U);
  EXPECT_EQ(regions.dropped(), 1U);
}

TEST(Collector, TenTimesTooManyEventsFromEightThreads) {
  constexpr int kCapacity = 400;
  constexpr int kThreads = 8;
  ParallelRegionCollector regions(RegionCollectorOptions{.capacity = kCapacity});
  std::atomic<bool> over{false};
  // Somebody asks all the time.
  std::thread reader([&] {
    while (!over) {
      for (const ParallelRegionEvent& event : regions.Report().events) {
        EXPECT_EQ(event.participants.size(), 1U);
      }
    }
  });
  Gate start;
  std::vector<std::thread> writers;
  writers.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    writers.emplace_back([&] {
      start.ArriveAndWaitFor(kThreads);
      RunMany(&regions, 10 * kCapacity / kThreads);
    });
  }
  for (std::thread& writer : writers) writer.join();
  over = true;
  reader.join();

  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), size_t{kCapacity});
  EXPECT_EQ(report.dropped, uint64_t{9 * kCapacity});
  std::set<uint64_t> ids;
  int64_t before = 0;
  for (const ParallelRegionEvent& event : report.events) {
    ids.insert(event.region_id);
    EXPECT_LE(before, event.start_ns);
    before = event.start_ns;
    ASSERT_EQ(event.participants.size(), 1U);
    EXPECT_EQ(event.participants[0].thread_id, event.thread_id);
    EXPECT_EQ(event.participants[0].iterations, 3U);
  }
  EXPECT_EQ(ids.size(), size_t{kCapacity});
}

TEST(Collector, AReportIsACopy) {
  std::optional<ParallelRegionReport> kept;
  {
    ParallelRegionCollector regions(RegionCollectorOptions{.capacity = 8});
    RunMany(&regions, 2);
    kept = regions.Report();
    regions.Clear();
    RunMany(&regions, 8);
  }
  const ParallelRegionReport moved = std::move(*kept);
  ASSERT_EQ(moved.events.size(), 2U);
  for (const ParallelRegionEvent& event : moved.events) {
    ASSERT_EQ(event.participants.size(), 1U);
    EXPECT_EQ(event.participants[0].iterations, 3U);
    EXPECT_GE(event.participants.data(), moved.storage.data());
    EXPECT_LT(event.participants.data(), moved.storage.data() + moved.storage.size());
  }
}

TEST(Collector, ForEachSeesWhatAReportSees) {
  ParallelRegionCollector regions(RegionCollectorOptions{.capacity = 8});
  RunMany(&regions, 3);
  std::vector<uint64_t> ids;
  regions.impl().ForEach([&](const ParallelRegionEvent& event) { ids.push_back(event.region_id); });
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(ids.size(), report.events.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], report.events[i].region_id);
}

// Room for fewer participants than there are: what is summed over them is not known, not too small.
TEST(Collector, CountsParticipantsThatFoundNoPlace) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions(RegionCollectorOptions{.participants_per_event = 2});
  Gate gate;
  const auto caller = std::this_thread::get_id();
  // The caller comes last.
  ParallelFor(ExecutorView(executor, &regions), 4, 1, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() == caller) gate.WaitFor(3);
    gate.ArriveAndWaitFor(4);
  });
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 1U);
  const ParallelRegionEvent& event = report.events[0];
  EXPECT_EQ(event.observed_threads, 4);
  EXPECT_EQ(event.participants_dropped, 2U);
  EXPECT_EQ(event.participants_status, Status::kOverflow);
  ASSERT_EQ(event.participants.size(), 2U);
  EXPECT_EQ(event.participants[0].thread_id, event.thread_id);
  EXPECT_NE(event.participants[1].thread_id, event.thread_id);
  EXPECT_FALSE(event.busy_ns().has_value());
  EXPECT_FALSE(event.busy_utilization().has_value());
  EXPECT_FALSE(event.imbalance().has_value());
  EXPECT_FALSE(event.idle_core_ns().has_value());
}

TEST(Collector, WithoutMemoryDropsAllAndSaysSo) {
  const size_t most = std::numeric_limits<size_t>::max();
  for (const RegionCollectorOptions& options :
       {RegionCollectorOptions{.capacity = 0}, RegionCollectorOptions{.capacity = most},
        RegionCollectorOptions{.capacity = most / 4096, .participants_per_event = 1},
        RegionCollectorOptions{.capacity = 16, .participants_per_event = most}}) {
    ParallelRegionCollector regions(options);
    EXPECT_EQ(regions.capacity(), 0U);
    RunMany(&regions, 2);
    EXPECT_EQ(regions.Report().events.size(), 0U);
    EXPECT_EQ(regions.dropped(), 2U);
  }
}

TEST(Collector, CallsBackOnTheCallingThreadInsteadOfKeeping) {
  std::vector<std::pair<int64_t, uint64_t>> seen;
  std::thread::id where;
  ParallelRegionCollector regions(
      RegionCollectorOptions{.callback = [&](const ParallelRegionEvent& event) {
        seen.emplace_back(event.total_iterations, event.participants[0].iterations);
        where = std::this_thread::get_id();
      }});
  std::thread::id caller;
  std::thread([&] {
    caller = std::this_thread::get_id();
    RunMany(&regions, 2);
  }).join();
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, uint64_t>>{{3, 3}, {3, 3}}));
  EXPECT_EQ(where, caller);
  EXPECT_TRUE(regions.Report().events.empty());
  EXPECT_EQ(regions.dropped(), 0U);
}

// It would be called for what it does itself, without an end.
TEST(Collector, ACallbacksOwnLoopsAreCountedAsDropped) {
  CpuExecutor executor(2);
  ParallelRegionCollector* itself = nullptr;
  ParallelRegionCollector beside;
  int calls = 0;
  ParallelRegionCollector regions(
      RegionCollectorOptions{.callback = [&](const ParallelRegionEvent&) {
        ++calls;
        Gate both;  // also on a thread that knows of no callback
        ParallelFor(ExecutorView(executor, itself), 2, 1, [&](int64_t, int64_t) {
          both.ArriveAndWaitFor(2);
          ParallelFor(ExecutorView(executor, itself), 2, 1, Nothing);
        });
        ParallelFor(ExecutorView(executor, &beside), 2, 1, Nothing);
      }});
  itself = &regions;
  ParallelFor(ExecutorView(executor, &regions), 2, 1, Nothing);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(regions.dropped(), 3U);
  EXPECT_EQ(beside.Report().events.size(), 1U);  // keeping is no call
  ParallelFor(ExecutorView(executor, &regions), 2, 1, Nothing);
  EXPECT_EQ(calls, 2);
}

TEST(Collector, AThrowingCallbackDoesNotFailTheLoop) {
  ParallelRegionCollector regions(RegionCollectorOptions{
      .callback = [](const ParallelRegionEvent&) { throw std::runtime_error("it must not"); }});
  RunMany(&regions, 2);
  EXPECT_EQ(regions.dropped(), 2U);
  regions.Clear();
  EXPECT_EQ(regions.dropped(), 0U);
}

}  // namespace
}  // namespace inferprobe
