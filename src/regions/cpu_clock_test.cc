// CPU times of regions and participants: when the clocks are read, and what of them is told.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/system_clock.h"
#include "base/thread_identity.h"
#include "inferprobe/clock.h"
#include "inferprobe/parallel_for.h"
#include "regions/frame.h"
#include "regions/gate.h"

namespace inferprobe::regions {
namespace {

ParallelRegionEvent TheEvent(const ParallelRegionReport& report) {
  EXPECT_EQ(report.events.size(), 1U);
  return report.events.empty() ? ParallelRegionEvent{} : report.events[0];
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

struct Readings {
  const char* name;
  uint64_t cpu_start_ns, cpu_end_ns;
  uint64_t cpu_ticks, end_ticks;  // of a participant that starts at tick 1000
  Status status;
};

class CpuReadings : public testing::TestWithParam<Readings> {};

TEST_P(CpuReadings, TellOrDoNot) {
  Place place{};
  place.start_ticks = 1000;
  place.end_ticks = GetParam().end_ticks;
  place.cpu_ticks = GetParam().cpu_ticks;
  place.cpu_start_ns = GetParam().cpu_start_ns;
  place.cpu_end_ns = GetParam().cpu_end_ns;
  EXPECT_EQ(CpuTimeStatus(place), GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(
    CpuClock, CpuReadings,
    testing::Values(Readings{"AllOfIt", 5, 9, 2000, 2000, Status::kValid},
                    Readings{"NineteenTwentieths", 5, 9, 1950, 2000, Status::kValid},
                    Readings{"Less", 5, 9, 1949, 2000, Status::kBelowResolution},
                    Readings{"OnlyTheFirst", 5, kNoCpuTime, 2000, 2000, Status::kBelowResolution},
                    Readings{"NoClock", kNoCpuTime, kNoCpuTime, 2000, 2000, Status::kUnsupported}),
    [](const auto& param_info) { return param_info.param.name; });

#if !defined(_WIN32)

// Whether it is time for a reading is made up: `reading_ticks` after the one before.
ParallelRegionReport ReportOfChunks(uint64_t reading_ticks, int chunks) {
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kCpuClock});
  Frame frame;
  BeginRegion(&frame, &regions, {.requested = 1});
  frame.admitted = 1;
  frame.cpu_reading_ticks = reading_ticks;
  for (int i = 0; i < chunks; ++i) const Chunk chunk(&frame);
  EndRegion(&frame);
  return regions.Report();
}

// Two clocks may go at rates that differ by what NTP does to one of them: 500 ppm at most.
uint64_t WithRates(uint64_t ns) { return ns + ns / 1000; }

TEST(CpuClock, OfShortChunksIsNotRead) {
  const ParallelRegionReport report = ReportOfChunks(uint64_t{1} << 62, 128);
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_EQ(event.participants[0].cpu_time_status, Status::kBelowResolution);
  EXPECT_EQ(event.participants[0].cpu_time_ns, 0U);
  EXPECT_FALSE(event.worker_cpu_time_ns().has_value());
}

TEST(CpuClock, IsReadInsideTheBusyTime) {
  for (int round = 0; round < 1000; ++round) {
    const ParallelRegionReport report = ReportOfChunks(0, 1 + round % 3);
    const RegionParticipant& participant = report.events[0].participants[0];
    ASSERT_EQ(participant.cpu_time_status, Status::kValid);
    ASSERT_LE(participant.cpu_time_ns, WithRates(participant.busy_ns)) << round;
  }
}

// Until the thread's own CPU clock has gone on by that much.
uint64_t SpinForCpuNs(uint64_t ns) {
  const uint64_t from = *base::ThreadCpuNs();
  uint64_t now = from;
  while (now - from < ns) now = *base::ThreadCpuNs();
  return now - from;
}

TEST(CpuClock, CountsWhatTheBodyDid) {
  CpuExecutor executor(2);
  ParallelRegionCollector regions(RegionCollectorOptions{.detail = RegionDetail::kCpuClock});
  Gate both;
  std::mutex mutex;
  std::map<int64_t, uint64_t> spun;  // by thread
  const uint64_t before = *base::ProcessCpuNs();
  ParallelFor(ExecutorView(executor, &regions), 2, 1, [&](int64_t, int64_t) {
    both.ArriveAndWaitFor(2);
    // Above kShortestCpuTimeNs, and far above kCpuReadingNs.
    const uint64_t ns = SpinForCpuNs(2 * kShortestCpuTimeNs);
    const std::lock_guard lock(mutex);
    spun[base::ThreadId()] = ns;
  });
  const uint64_t around = *base::ProcessCpuNs() - before;
  const ParallelRegionReport report = regions.Report();
  const ParallelRegionEvent event = TheEvent(report);
  ASSERT_EQ(event.participants.size(), 2U);
  for (const RegionParticipant& participant : event.participants) {
    ASSERT_EQ(participant.cpu_time_status, Status::kValid);
    EXPECT_GE(participant.cpu_time_ns, spun.at(participant.thread_id));
    EXPECT_LE(participant.cpu_time_ns, WithRates(participant.busy_ns));
  }
  ASSERT_EQ(event.process_cpu_status, Status::kValid);
  // What the other thread did is there with a delay; the calling thread's is there at once.
  EXPECT_GE(event.process_cpu_time_ns, spun.at(event.thread_id));
  EXPECT_LE(event.process_cpu_time_ns, around);
}

#endif  // !_WIN32

TEST(CpuClock, IsOfNobodyWhereNobodyTookPart) {
  const ParallelRegionReport report = ReportOfCpuClocks(2e6, 0);
  const ParallelRegionEvent event = TheEvent(report);
  EXPECT_FALSE(event.cpu_utilization.has_value());
  EXPECT_NE(event.cpu_utilization_status, Status::kValid);
}

}  // namespace
}  // namespace inferprobe::regions
