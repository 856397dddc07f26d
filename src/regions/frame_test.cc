// Regions as a hook of a runtime's own pool records them: frames, chunks, and threads that this
// library did not start.
#include "regions/frame.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/parallel_for.h"
#include "regions/gate.h"

namespace inferprobe::regions {
namespace {

uint64_t TicksOf(double ns) { return static_cast<uint64_t>(ns / Clock().ns_per_tick); }

ParallelRegionEvent TheEvent(const ParallelRegionReport& report) {
  EXPECT_EQ(report.events.size(), 1U);
  return report.events.empty() ? ParallelRegionEvent{} : report.events[0];
}

TEST(Frame, BusyIsFromTheFirstChunksStartToTheLastOnesEnd) {
  ParallelRegionCollector regions;
  Frame frame;
  BeginRegion(&frame, &regions, {.iterations = 5, .requested = 2});
  frame.admitted = 2;
  {
    Chunk chunk(&frame);
    chunk.Ran(2);
  }
  const uint64_t start = frame.places[0].start_ticks;
  {
    Chunk chunk(&frame);
    chunk.Ran(3);
  }
  EXPECT_EQ(frame.places[0].start_ticks, start);
  // As if the first had started 1 ms before the region's clock was read, and ended 2 ms after.
  ASSERT_EQ(frame.entered.load(), 1U);
  frame.places[0].start_ticks = frame.start_ticks - TicksOf(1e6);
  frame.places[0].end_ticks = frame.start_ticks + TicksOf(2e6);
  EndRegion(&frame);
  const ParallelRegionReport report = regions.Report();
  const ParallelRegionEvent event = TheEvent(report);
  ASSERT_EQ(event.participants.size(), 1U);
  EXPECT_EQ(event.participants[0].chunks, 2U);
  EXPECT_EQ(event.participants[0].iterations, 5U);
  EXPECT_NEAR(static_cast<double>(event.participants[0].busy_ns), 3e6, 2);
  EXPECT_NEAR(static_cast<double>(event.start_ns - event.participants[0].start_ns), 1e6, 2);
}

TEST(Frame, WallDoesNotEvenTakeAPlace) {
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kWall});
  Frame frame;
  BeginRegion(&frame, &regions, {});
  {
    const Chunk chunk(&frame);
    EXPECT_EQ(t_work.inside, &frame);  // loops in it know their parent all the same
  }
  EXPECT_EQ(frame.entered.load(), 0U);
  EndRegion(&frame);
  EXPECT_EQ(TheEvent(regions.Report()).participants_status, Status::kNotRequested);
}

TEST(Frame, CountsTheThreadsOfAPoolThatItDidNotStart) {
  ParallelRegionCollector regions(RegionCollectorOptions{.participants_per_event = 3});
  Frame frame;
  BeginRegion(&frame, &regions, {.label = "pool", .requested = 3, .code = &regions});
  frame.admitted = 3;
  std::vector<std::thread> pool;
  for (int i = 0; i < 2; ++i) {
    pool.emplace_back([&] {
      for (int chunk = 0; chunk < 3; ++chunk) const Chunk running(&frame);
    });
  }
  for (std::thread& thread : pool) thread.join();
  {
    const Chunk callers(&frame);
  }
  EndRegion(&frame);
  const ParallelRegionReport report = regions.Report();
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_EQ(event.observed_threads, 3);
  EXPECT_EQ(event.code, &regions);
  EXPECT_EQ(event.executor_id, 0U);
  EXPECT_EQ(event.location.line(), 0U);
  ASSERT_EQ(event.participants.size(), 3U);
  EXPECT_EQ(event.participants[0].chunks, 1U);  // the caller's, though it came last
  EXPECT_EQ(event.participants[1].chunks, 3U);
  EXPECT_EQ(event.participants[2].chunks, 3U);
  EXPECT_EQ(event.participants[1].iterations, 0U);  // that pool does not tell
}

TEST(Frame, MoreThreadsThanPlacesAreCounted) {
  ParallelRegionCollector regions(RegionCollectorOptions{.participants_per_event = 500});
  auto frame = std::make_unique<Frame>();
  BeginRegion(frame.get(), &regions, {});
  constexpr int kThreads = static_cast<int>(kMaxPlaces) + 5;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&] {
      for (int chunk = 0; chunk < 3; ++chunk) const Chunk running(frame.get());
    }).join();
  }
  EndRegion(frame.get());
  const ParallelRegionReport report = regions.Report();
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_EQ(event.observed_threads, kThreads);
  EXPECT_EQ(event.participants.size(), kMaxPlaces);
  EXPECT_EQ(event.participants_dropped, 5U);
  EXPECT_EQ(event.participants_status, Status::kOverflow);
}

TEST(Frame, AChunkThatThrowsEndsWithoutIterations) {
  ParallelRegionCollector regions;
  Frame frame;
  BeginRegion(&frame, &regions, {});
  try {
    Chunk chunk(&frame);
    throw std::runtime_error("the task's");
  } catch (const std::runtime_error&) {
    frame.failed = true;
  }
  EXPECT_EQ(t_work.inside, nullptr);
  EndRegion(&frame);
  const ParallelRegionReport report = regions.Report();
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_TRUE(event.failed);
  ASSERT_EQ(event.participants.size(), 1U);
  EXPECT_EQ(event.participants[0].chunks, 1U);
  EXPECT_EQ(event.participants[0].iterations, 0U);
}

TEST(Frame, AParallelForInAPoolsChunkHasItAsParent) {
  ParallelRegionCollector regions;
  CpuExecutor executor(2);
  Frame frame;
  BeginRegion(&frame, &regions, {.label = "pool"});
  for (int i = 0; i < 3; ++i) {
    const Chunk chunk(&frame);
    ParallelFor(ExecutorView(executor, &regions), 4, 1, [](int64_t, int64_t) {}, "inner");
  }
  EndRegion(&frame);
  const ParallelRegionReport report = regions.Report();
  ASSERT_EQ(report.events.size(), 4U);
  EXPECT_EQ(report.events[0].label, "pool");
  EXPECT_EQ(report.events[0].observed_threads, 1);  // back from each loop at the same place
  ASSERT_EQ(report.events[0].participants.size(), 1U);
  EXPECT_EQ(report.events[0].participants[0].chunks, 3U);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(report.events[i].parent_region_id, report.events[0].region_id);
  }
}

// The length is made up, so that no machine is too slow or too fast.
ParallelRegionReport ReportOfCpuClocks(double wall_ns, int32_t admitted) {
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kCpuClock});
  Frame frame;
  BeginRegion(&frame, &regions, {.requested = 2});
  frame.admitted = admitted;
  {
    const Chunk chunk(&frame);
  }
  frame.start_ticks =
      NowTicks() - static_cast<uint64_t>(static_cast<int64_t>(wall_ns / Clock().ns_per_tick));
  EndRegion(&frame);
  return regions.Report();
}

TEST(CpuClock, SaysNothingOfAShortRegion) {
  // Begins in a minute: short in whatever time this takes.
  const ParallelRegionReport report = ReportOfCpuClocks(-60e9, 2);
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_EQ(event.wall_time_ns, 0U);
  EXPECT_EQ(event.process_cpu_time_ns, 0U);
  EXPECT_FALSE(event.cpu_utilization.has_value());
#if defined(_WIN32)
  EXPECT_EQ(event.process_cpu_status, Status::kUnsupported);
  EXPECT_EQ(event.participants[0].cpu_time_status, Status::kUnsupported);
#else
  EXPECT_EQ(event.process_cpu_status, Status::kBelowResolution);
  EXPECT_EQ(event.cpu_utilization_status, Status::kBelowResolution);
  EXPECT_EQ(event.participants[0].cpu_time_status, Status::kValid);  // a thread's own does not lag
  EXPECT_TRUE(event.worker_cpu_time_ns().has_value());
#endif
}

TEST(CpuClock, IsOverWallAndAdmittedThreads) {
  const ParallelRegionReport report = ReportOfCpuClocks(2e6, 2);
  const ParallelRegionEvent event = TheEvent(report);
#if defined(_WIN32)
  EXPECT_EQ(event.process_cpu_status, Status::kUnsupported);
  EXPECT_EQ(event.cpu_utilization_status, Status::kUnsupported);
  EXPECT_FALSE(event.cpu_utilization.has_value());
#else
  ASSERT_EQ(event.process_cpu_status, Status::kValid);
  EXPECT_GT(event.process_cpu_time_ns, 0U);
  ASSERT_TRUE(event.cpu_utilization.has_value());
  EXPECT_DOUBLE_EQ(*event.cpu_utilization, static_cast<double>(event.process_cpu_time_ns) /
                                               (2 * static_cast<double>(event.wall_time_ns)));
#endif
}

TEST(CpuClock, IsOfNobodyWhereNobodyTookPart) {
  const ParallelRegionReport report = ReportOfCpuClocks(2e6, 0);
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_FALSE(event.cpu_utilization.has_value());
  EXPECT_NE(event.cpu_utilization_status, Status::kValid);
}

}  // namespace
}  // namespace inferprobe::regions
