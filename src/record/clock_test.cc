#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/system_clock.h"
#include "record/calibrate.h"
#include "record/clock_calibration.h"

namespace inferprobe::record {
namespace {

// A folder with the one file of /sys that decides.
std::string FakeSys(const std::string& name, const std::string& clocksource) {
  const std::string root = testing::TempDir() + "inferprobe_sys_" + name;
  const std::string folder = root + "/sys/devices/system/clocksource/clocksource0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/current_clocksource") << clocksource;
  return root;
}

TEST(TscRefusal, TscWhenKernelAndCpuTrustIt) {
  EXPECT_EQ(TscRefusal(FakeSys("tsc", "tsc\n"), true), "");
}

TEST(TscRefusal, NotWhenTheKernelLeftIt) {
  EXPECT_EQ(TscRefusal(FakeSys("hpet", "hpet\n"), true),
            "the kernel's clocksource is \"hpet\", not \"tsc\"");
  EXPECT_EQ(TscRefusal(FakeSys("early", "tsc-early\n"), true),
            "the kernel's clocksource is \"tsc-early\", not \"tsc\"");
}

TEST(TscRefusal, NotWhenTheCpuDoesNotPromiseARate) {
  EXPECT_NE(TscRefusal(FakeSys("variant", "tsc\n"), false).find("CPUID"), std::string::npos);
}

TEST(TscRefusal, NotWhenTheKernelDoesNotTell) {
  EXPECT_NE(TscRefusal("/nonexistent", true).find("does not tell"), std::string::npos);
}

TEST(Calibrate, RateAndBoundFromTwoAnchors) {
  // 30,000,000 ticks in 10 ms: 3 GHz. Readings 60 and 90 ticks wide: 75 ticks of doubt.
  const ClockCalibration clock = Calibrate({1'000, 5'000'000, 60}, {30'001'000, 15'000'000, 90});
  EXPECT_DOUBLE_EQ(clock.ns_per_tick, 1.0 / 3);
  EXPECT_DOUBLE_EQ(clock.error_ppm, 2.5);
  EXPECT_EQ(clock.ToNs(30'001'000), 15'000'000);
  EXPECT_EQ(clock.ToNs(30'001'003), 15'000'001);
  EXPECT_EQ(clock.ToNs(1'000), 5'000'000);  // before the anchor, too
}

TEST(Clock, AgreesWithTheSystemsClock) {
  const ClockCalibration& clock = Clock();
  EXPECT_EQ(clock.tsc, WhyNotTsc().empty());
  for (int i = 0; i < 100; ++i) {
    const int64_t before = base::MonotonicNs();
    const int64_t ours = clock.ToNs(NowTicks());
    const int64_t after = base::MonotonicNs();
    // A test may be descheduled between the readings: that widens the bracket, not the error.
    const auto slack = static_cast<int64_t>(1000 + static_cast<double>(after - clock.anchor_ns) *
                                                       (clock.error_ppm + 20) * 1e-6);
    EXPECT_GE(ours, before - slack);
    EXPECT_LE(ours, after + slack);
  }
}

TEST(Clock, OffsetsLeadToTheOtherClocks) {
  const int64_t before = base::RealtimeNs();
  const int64_t realtime = base::MonotonicNs() + Clock().realtime_minus_monotonic_ns;
  EXPECT_LT(std::abs(realtime - before), 1'000'000'000);
}

TEST(StepTicks, IsWhatAllDifferencesShare) {
  const auto step = [](std::vector<int64_t> deltas) { return StepTicks(deltas); };
  EXPECT_EQ(step({26, 52, 78}), 26U);
  EXPECT_EQ(step({52, 78}), 26U);  // that no reading took one step alone does not matter
  EXPECT_EQ(step({1, 2, 3}), 1U);
  EXPECT_EQ(step({26, 52, 78, 31}), 1U);
  EXPECT_EQ(step({0, 26, 0, 52}), 26U);
  EXPECT_EQ(step({26, -52}), 26U);
}

TEST(StepTicks, IsOneTickWhereNothingIsKnown) {
  EXPECT_EQ(StepTicks({}), 1U);
  EXPECT_EQ(StepTicks(std::array<int64_t, 2>{0, 0}), 1U);
}

TEST(ProbeCosts, TheTickIsWhatTheClockAdvancesBy) {
  const double ns_per_tick = Clock().ns_per_tick;  // first: it decides what a tick is
  std::vector<double> steps;
  volatile int waited = 0;
  for (int batch = 0; batch < 31; ++batch) {
    std::vector<int64_t> deltas;
    uint64_t last = NowTicks();
    for (int i = 0; i < 300; ++i) {
      // Not a system's clock: it reads the TSC itself, within one step of ours.
      for (int k = 0; k < 100 + i % 32; ++k) waited = waited + 1;
      const uint64_t now = NowTicks();
      deltas.push_back(static_cast<int64_t>(now - last));
      last = now;
    }
    steps.push_back(static_cast<double>(StepTicks(deltas)) * ns_per_tick);
  }
  std::sort(steps.begin(), steps.end());
  if (Clock().tsc) {
    EXPECT_NEAR(MeasureProbeCosts().tick_ns, steps[15], ns_per_tick / 2);
    EXPECT_NEAR(CalibratedCosts().tick_ns, steps[15], ns_per_tick / 2);
  } else {
    EXPECT_GE(MeasureProbeCosts().tick_ns, 1);
  }
}

TEST(ProbeCosts, ArePlausible) {
  // The least of several: other work on the machine only adds. No bound is a speed.
  double clock_read_ns = INFINITY;
  double event_ns = INFINITY;
  for (int i = 0; i < 5; ++i) {
    const int64_t start = base::MonotonicNs();
    const ProbeCosts costs = MeasureProbeCosts();
    const auto took_ns = static_cast<double>(base::MonotonicNs() - start);
    // Half of 15 batches of 1,000 took at least the median.
    EXPECT_LT(7'000 * costs.clock_read_ns, took_ns);
    EXPECT_LT(7'000 * costs.event_ns, took_ns);
    EXPECT_GT(costs.tick_ns, 0);
    clock_read_ns = std::min(clock_read_ns, costs.clock_read_ns);
    event_ns = std::min(event_ns, costs.event_ns);
  }
  EXPECT_GT(clock_read_ns, 0);
  EXPECT_GT(event_ns, clock_read_ns);  // it holds two of them
  EXPECT_EQ(&CalibratedCosts(), &CalibratedCosts());
}

}  // namespace
}  // namespace inferprobe::record
