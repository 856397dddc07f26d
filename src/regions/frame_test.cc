// Regions as a hook of a runtime's own pool records them: frames, chunks, and threads that this
// library did not start.
#include "regions/frame.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/parallel_for.h"

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

#if defined(__linux__)

// The calling thread stays on the CPU that it is on, or goes to the one that is given.
class Pinned {
 public:
  explicit Pinned(int cpu) {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    MoveTo(cpu);
  }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  void MoveTo(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  [[nodiscard]] std::optional<int> Other(int than) const {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (cpu != than && CPU_ISSET(cpu, &before_)) return cpu;
    }
    return std::nullopt;
  }

 private:
  cpu_set_t before_{};
};

TEST(Frame, CountsChangesOfCpuFromChunkToChunk) {
  const int here = sched_getcpu();
  Pinned pinned(here);
  const std::optional<int> other = pinned.Other(here);
  ParallelRegionCollector regions;
  Frame frame;
  BeginRegion(&frame, &regions, {});
  for (int i = 0; i < 2; ++i) const Chunk stays(&frame);
  EXPECT_EQ(frame.places[0].migrations, 0U);
  if (other) {
    pinned.MoveTo(*other);
  } else {
    frame.places[0].last_cpu = here + 1;  // as if it came from there
  }
  for (int i = 0; i < 2; ++i) const Chunk moved(&frame);
  EndRegion(&frame);
  const ParallelRegionReport report = regions.Report();
  const RegionParticipant participant = TheEvent(report).participants[0];
  EXPECT_EQ(participant.migrations, 1U);
  EXPECT_EQ(participant.first_cpu, here);
  EXPECT_EQ(participant.last_cpu, other.value_or(here));
}

#endif  // __linux__

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

}  // namespace
}  // namespace inferprobe::regions
