#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

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

TEST(ProbeCosts, ArePlausible) {
  const ProbeCosts costs = MeasureProbeCosts();
  EXPECT_GT(costs.clock_read_ns, 0.1);
  EXPECT_LT(costs.clock_read_ns, 100'000);
  EXPECT_GT(costs.event_ns, costs.clock_read_ns);  // it holds two of them
  EXPECT_GT(costs.tick_ns, 0);
  EXPECT_EQ(&CalibratedCosts(), &CalibratedCosts());
}

}  // namespace
}  // namespace inferprobe::record
