#include "measure/machine/disturbance.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "measure/machine/canary.h"
#include "measure/machine/fake_system.h"

namespace inferprobe::measure {
namespace {

using profile::Status;

// A machine of two CPUs that has every source.
void WriteEverything(const FakeSystem& fake) {
  fake.Write("/proc/thread-self/schedstat", "100 1000 3\n");
  for (const char* resource : {"cpu", "io", "memory"}) {
    fake.Write(std::string("/proc/pressure/") + resource, "some avg10=0.00 total=1000\n");
  }
  fake.Write("/proc/stat", "cpu  1 1 1 1 1 1 1 5 0 0\n");
  fake.Write("/proc/self/cgroup", "0::/job\n");
  fake.Write("/sys/fs/cgroup/job/cpu.stat", "throttled_usec 10\n");
  fake.Write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n");
  fake.Write("/sys/devices/system/cpu/online", "0-1\n");
  for (const char* cpu : {"cpu0", "cpu1"}) {
    const std::string folder = std::string("/sys/devices/system/cpu/") + cpu;
    fake.Write(folder + "/cpufreq/scaling_cur_freq", cpu[3] == '0' ? "2000000\n" : "3000000\n");
    fake.Write(folder + "/thermal_throttle/core_throttle_count", "7\n");
  }
  fake.Write("/sys/class/thermal/thermal_zone0/temp", "41500\n");
  fake.Write("/sys/class/thermal/thermal_zone1/temp", "63250\n");
  fake.Write("/sys/class/thermal/cooling_device0/temp", "99000\n");
  fake.Write("/proc/loadavg", "0.63 0.50 0.40 1/100 4242\n");
}

TEST(BlockMeter, TotalsAreDifferencesAndTheRestIsReadAtTheEnd) {
  const FakeSystem fake;
  WriteEverything(fake);
  BlockMeter meter(fake.root());
  meter.Begin();
  fake.Write("/proc/pressure/cpu", "some avg10=0.00 total=1500\n");
  fake.Write("/proc/pressure/io", "some avg10=0.00 total=1001\n");
  fake.Write("/proc/stat", "cpu  1 1 1 1 1 1 1 8 0 0\n");
  fake.Write("/sys/fs/cgroup/job/cpu.stat", "throttled_usec 30\n");
  fake.Write("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "9\n");
  const profile::BlockReading reading = meter.End();

  EXPECT_EQ(*reading.psi_cpu_some_us, 500);
  EXPECT_EQ(*reading.psi_io_some_us, 1);
  EXPECT_EQ(*reading.psi_memory_some_us, 0);
  EXPECT_EQ(*reading.steal_ticks, 3);
  EXPECT_EQ(*reading.quota_throttled_us, 20);
  EXPECT_EQ(*reading.thermal_throttles, 2);
  EXPECT_EQ(*reading.freq_khz_min, 2'000'000);
  EXPECT_EQ(*reading.freq_khz_max, 3'000'000);
  EXPECT_DOUBLE_EQ(*reading.temperature_c, 63.25);
  EXPECT_DOUBLE_EQ(*reading.load_average, 0.63);
  EXPECT_GT(*reading.canary_ns, 0);
  EXPECT_GT(reading.end_ns, reading.start_ns);
}

// The thread may be off the CPU between any two readings: then the block's time must still hold all
// that the totals tell.
TEST(BlockMeter, NoPressureExceedsTheTimeOfItsBlock) {
  const FakeSystem fake;
  WriteEverything(fake);
  int64_t time_ns = 1'000'000;
  int64_t step_ns = 0;
  // Something always waits for a CPU on this machine.
  const auto now_ns = [&] {
    time_ns += step_ns;
    fake.Write("/proc/pressure/cpu",
               "some avg10=99.00 total=" + std::to_string(time_ns / 1000) + "\n");
    return time_ns;
  };
  for (const int64_t late_ns : {1'000, 30'000'000}) {
    BlockMeter meter(fake.root(), now_ns);
    step_ns = late_ns;
    meter.Begin();
    step_ns = 1'000'000;
    const profile::BlockReading reading = meter.End();
    EXPECT_LE(*reading.psi_cpu_some_us * 1000, reading.end_ns - reading.start_ns) << late_ns;
  }
}

TEST(BlockMeter, OnAnEmptyMachineEveryFigureIsUnsupportedNotZero) {
  const FakeSystem fake;
  BlockMeter meter(fake.root());
  meter.Begin();
  const profile::BlockReading reading = meter.End();
  for (const auto* metric :
       {&reading.psi_cpu_some_us, &reading.psi_io_some_us, &reading.psi_memory_some_us,
        &reading.steal_ticks, &reading.quota_throttled_us, &reading.thermal_throttles,
        &reading.freq_khz_min, &reading.freq_khz_max}) {
    ASSERT_FALSE(*metric);
    EXPECT_EQ(metric->missing().status, Status::kUnsupported);
    EXPECT_FALSE(metric->missing().hint.empty());
  }
  for (const auto* metric : {&reading.temperature_c, &reading.load_average}) {
    ASSERT_FALSE(*metric);
    EXPECT_EQ(metric->missing().status, Status::kUnsupported);
  }
}

TEST(BlockMeter, GarbageIsUnavailableAndSaysWhichFile) {
  const FakeSystem fake;
  WriteEverything(fake);
  fake.Write("/proc/pressure/cpu", "<html>\n");
  fake.Write("/proc/stat", "");
  fake.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "<unknown>\n");
  BlockMeter meter(fake.root());
  meter.Begin();
  const profile::BlockReading reading = meter.End();
  ASSERT_FALSE(reading.psi_cpu_some_us);
  EXPECT_EQ(reading.psi_cpu_some_us.missing().status, Status::kUnavailable);
  EXPECT_EQ(reading.psi_cpu_some_us.missing().hint,
            "/proc/pressure/cpu is not in the expected form");
  EXPECT_FALSE(reading.steal_ticks);
  EXPECT_FALSE(reading.freq_khz_min);
  EXPECT_TRUE(reading.psi_io_some_us);
}

TEST(BlockMeter, AForbiddenFileIsPermissionDenied) {
  const FakeSystem fake;
  WriteEverything(fake);
  fake.Forbid("/proc/pressure/cpu");
  const base::WithoutRoot nobody;
  BlockMeter meter(fake.root());
  meter.Begin();
  const profile::BlockReading reading = meter.End();
  ASSERT_FALSE(reading.psi_cpu_some_us);
  EXPECT_EQ(reading.psi_cpu_some_us.missing().status, Status::kPermissionDenied);
  EXPECT_TRUE(reading.psi_io_some_us);
}

TEST(BlockMeter, ATotalThatWentBackwardsIsNoFigure) {
  const FakeSystem fake;
  WriteEverything(fake);
  BlockMeter meter(fake.root());
  meter.Begin();
  fake.Write("/proc/pressure/memory", "some total=10\n");
  const profile::BlockReading reading = meter.End();
  ASSERT_FALSE(reading.psi_memory_some_us);
  EXPECT_EQ(reading.psi_memory_some_us.missing().status, Status::kUnavailable);
}

TEST(BlockMeter, AZoneThatIsSwitchedOffHidesNoOther) {
  const FakeSystem fake;
  WriteEverything(fake);
  fake.Write("/sys/class/thermal/thermal_zone0/temp", "");
  BlockMeter meter(fake.root());
  meter.Begin();
  EXPECT_DOUBLE_EQ(*meter.End().temperature_c, 63.25);
}

TEST(RunCostMeter, RunQueueDelayIsTheDifference) {
  const FakeSystem fake;
  WriteEverything(fake);
  RunCostMeter meter(fake.root());
  ASSERT_TRUE(meter.run_queue_delay());
  meter.Begin();
  fake.Write("/proc/thread-self/schedstat", "200 51000 4\n");
  EXPECT_EQ(meter.End().run_queue_delay_ns, 50'000);
}

TEST(RunCostMeter, WithoutSchedstatTheDelayIsMissingNotZero) {
  const FakeSystem fake;
  RunCostMeter meter(fake.root());
  ASSERT_FALSE(meter.run_queue_delay());
  EXPECT_EQ(meter.run_queue_delay().missing().status, Status::kUnsupported);
  meter.Begin();
  EXPECT_EQ(meter.End().run_queue_delay_ns, -1);
}

TEST(RunCostMeter, GarbageInSchedstatIsUnavailable) {
  const FakeSystem fake;
  fake.Write("/proc/thread-self/schedstat", "off\n");
  RunCostMeter meter(fake.root());
  ASSERT_FALSE(meter.run_queue_delay());
  EXPECT_EQ(meter.run_queue_delay().missing().status, Status::kUnavailable);
  meter.Begin();
  EXPECT_EQ(meter.End().run_queue_delay_ns, -1);
}

TEST(RunCostMeter, FaultsAreThisThreadsOwn) {
  constexpr size_t kPages = 4096;  // far more than a new thread takes, under sanitizers too
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto touch = [&] {
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(const_cast<char*>(memory), kPages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages; ++i) memory[i * page] = 1;
    munmap(const_cast<char*>(memory), kPages * page);
  };
  RunCostMeter meter;
  meter.Begin();
  touch();
  EXPECT_GE(meter.End().minor_faults, kPages);

  meter.Begin();
  std::thread(touch).join();
  EXPECT_LT(meter.End().minor_faults, kPages);
}

TEST(RunCostMeter, SleepingIsAVoluntarySwitch) {
  RunCostMeter meter;
  meter.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(meter.End().voluntary_switches, 1U);
}

TEST(DisturbanceSources, NamesEverySourceOnceWithAReasonWhereItIsMissing) {
  const FakeSystem fake;
  const auto sources = DisturbanceSources(fake.root());
  EXPECT_EQ(sources.size(), 12U);
  size_t available = 0;
  for (const auto& source : sources) {
    available += source.available ? 1 : 0;
    if (!source.available) {
      EXPECT_FALSE(source.available.missing().hint.empty()) << source.name;
    }
  }
  EXPECT_EQ(available, 2U);  // getrusage and the canary
}

TEST(Canary, TakesSomeTime) {
  // 131,072 dependent additions at any clock below 13 GHz.
  EXPECT_GT(CanaryNs(), 10'000);
}

}  // namespace
}  // namespace inferprobe::measure
