#include "measure/machine/cpu_meter.h"

#include <gtest/gtest.h>

#include <ctime>

namespace inferprobe::measure {
namespace {

using profile::RunMode;

// Until this thread has used so much more of its CPU's time.
void Work(int64_t ns) {
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  for (const int64_t end = now() + ns; now() < end;) {
  }
}

TEST(CpuMeter, WhatIsInRunsIsNotOutside) {
  CpuMeter meter;
  meter.BeginBlock();
  Work(2'000'000);
  for (int run = 0; run < 3; ++run) {
    meter.BeforeRun(RunMode::kLatency);
    Work(20'000'000);
    meter.AfterRun(RunMode::kLatency);
  }
  profile::BlockReading reading;
  meter.EndBlock(&reading);
  ASSERT_TRUE(reading.process_cpu_ns);
  ASSERT_TRUE(reading.outside_cpu_ns);
  EXPECT_GE(*reading.process_cpu_ns, 62'000'000);
  EXPECT_GE(*reading.outside_cpu_ns, 2'000'000);
  EXPECT_LE(*reading.outside_cpu_ns, *reading.process_cpu_ns - 60'000'000);
}

TEST(CpuMeter, EachBlockBeginsAnew) {
  CpuMeter meter;
  profile::BlockReading reading;
  meter.BeginBlock();
  meter.BeforeRun(RunMode::kLatency);
  Work(20'000'000);
  meter.AfterRun(RunMode::kLatency);
  meter.BeginBlock();
  Work(1'000'000);
  meter.EndBlock(&reading);
  ASSERT_TRUE(reading.outside_cpu_ns);
  EXPECT_GE(*reading.outside_cpu_ns, 1'000'000);  // less 20 ms, were the run still counted
}

}  // namespace
}  // namespace inferprobe::measure
