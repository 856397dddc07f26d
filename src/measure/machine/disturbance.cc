#include "measure/machine/disturbance.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/files.h"
#include "measure/machine/canary.h"
#include "measure/machine/environment.h"

namespace inferprobe::measure {
namespace {

using profile::BlockReading;
using profile::Metric;
using profile::Missing;
using profile::Status;

constexpr size_t kMostCpusAsked = 16;

int64_t NowNs() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A figure out of a file, or why there is none.
template <typename T, typename Parser>
Metric<T> ParseFile(const SystemRoot& root, const std::string& path, Parser parse) {
  const Metric<std::string> text = ReadSystemFile(root, path);
  if (!text) return text.missing();
  Metric<T> value = parse(*text);
  if (!value && value.missing().status == Status::kUnavailable) {
    return Missing{Status::kUnavailable, fmt::format("{} is not in the expected form", path)};
  }
  return value;
}

// What a growing total grew by. One that shrank was reset, or is not what it seems.
Metric<int64_t> Difference(const Metric<int64_t>& end, const Metric<int64_t>& begin) {
  if (!end) return end;
  if (!begin) return begin;
  if (*end < *begin) return Missing{Status::kUnavailable, "the kernel's total went backwards"};
  return *end - *begin;
}

uint32_t Delta(int64_t end, int64_t begin) {
  return static_cast<uint32_t>(std::clamp<int64_t>(end - begin, 0, UINT32_MAX));
}

// The CPUs that this process may use, at most kMostCpusAsked of them.
std::vector<int> CpusToAsk(const SystemRoot& root) {
  std::vector<int> cpus = AllowedCpus(root);
  if (cpus.size() > kMostCpusAsked) cpus.resize(kMostCpusAsked);
  return cpus;
}

std::string CpuFile(int cpu, const char* name) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/{}", cpu, name);
}

template <typename T>
Metric<bool> Availability(const Metric<T>& metric) {
  if (!metric) return metric.missing();
  return true;
}

}  // namespace

RunCostMeter::RunCostMeter(const SystemRoot& root) {
  // "thread-self" is resolved at open: the descriptor stays this thread's.
  const std::string path = "/proc/thread-self/schedstat";
  schedstat_.Reset(open(root.Path(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!schedstat_.valid()) {
    run_queue_delay_ = MissingFromErrno(path, errno);
    return;
  }
  run_queue_delay_ = true;
  if (Read().waiting_ns < 0) {
    schedstat_.Reset();
    run_queue_delay_ =
        Missing{Status::kUnavailable, fmt::format("{} is not in the expected form", path)};
  }
}

RunCostMeter::Reading RunCostMeter::Read() const {
  Reading reading;
  if (schedstat_.valid()) {
    std::array<char, 128> text{};
    const ssize_t n = pread(schedstat_.get(), text.data(), text.size(), 0);
    if (n > 0) {
      const auto parsed = ParseSchedStat({text.data(), static_cast<size_t>(n)});
      if (parsed) reading.waiting_ns = parsed->waiting_ns;
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  reading.major_faults = usage.ru_majflt;
  reading.minor_faults = usage.ru_minflt;
  reading.involuntary_switches = usage.ru_nivcsw;
  reading.voluntary_switches = usage.ru_nvcsw;
  return reading;
}

void RunCostMeter::Begin() { begin_ = Read(); }

profile::RunDisturbance RunCostMeter::End() {
  const Reading end = Read();
  profile::RunDisturbance cost;
  cost.run_queue_delay_ns = end.waiting_ns < 0 || begin_.waiting_ns < 0
                                ? -1
                                : std::max<int64_t>(0, end.waiting_ns - begin_.waiting_ns);
  cost.major_faults = Delta(end.major_faults, begin_.major_faults);
  cost.minor_faults = Delta(end.minor_faults, begin_.minor_faults);
  cost.involuntary_switches = Delta(end.involuntary_switches, begin_.involuntary_switches);
  cost.voluntary_switches = Delta(end.voluntary_switches, begin_.voluntary_switches);
  return cost;
}

BlockMeter::BlockMeter(SystemRoot root, std::function<int64_t()> now_ns)
    : root_(std::move(root)), now_ns_(now_ns ? std::move(now_ns) : NowNs), cpus_(CpusToAsk(root_)) {
  const Metric<std::string> groups = ReadSystemFile(root_, "/proc/self/cgroup");
  cpu_stat_path_ = groups ? ParseCpuStatPath(*groups) : Metric<std::string>(groups.missing());
  for (const std::string& name : base::ListDirectory(root_.Path("/sys/class/thermal"))) {
    if (name.starts_with("thermal_zone")) {
      thermal_zones_.push_back(fmt::format("/sys/class/thermal/{}/temp", name));
    }
  }
}

Metric<int64_t> BlockMeter::Pressure(const char* resource) const {
  return ParseFile<int64_t>(root_, fmt::format("/proc/pressure/{}", resource),
                            ParsePressureTotalUs);
}

Metric<int64_t> BlockMeter::ThermalThrottles() const {
  Metric<int64_t> sum(Status::kUnsupported, "no thermal_throttle in sysfs");
  for (const int cpu : cpus_) {
    const auto count = ParseFile<int64_t>(
        root_, CpuFile(cpu, "thermal_throttle/core_throttle_count"), ParseInteger);
    if (!count) return count;
    sum = (sum ? *sum : 0) + *count;
  }
  return sum;
}

void BlockMeter::ReadFrequencies(BlockReading* reading) const {
  const auto set_both = [&](const Metric<int64_t>& khz) {
    reading->freq_khz_min = khz;
    reading->freq_khz_max = khz;
  };
  set_both(Missing{Status::kUnsupported, "no list of CPUs in /proc/self/status"});
  for (const int cpu : cpus_) {
    const auto khz =
        ParseFile<int64_t>(root_, CpuFile(cpu, "cpufreq/scaling_cur_freq"), ParseInteger);
    // The least of some CPUs is not the least of all.
    if (!khz) return set_both(khz.missing());
    if (!reading->freq_khz_min) set_both(*khz);
    reading->freq_khz_min = std::min(*reading->freq_khz_min, *khz);
    reading->freq_khz_max = std::max(*reading->freq_khz_max, *khz);
  }
}

Metric<double> BlockMeter::TemperatureC() const {
  Metric<double> hottest(Status::kUnsupported, "no thermal zones in sysfs");
  for (const std::string& path : thermal_zones_) {
    // A zone that is switched off fails to read; the others still count.
    const auto milli = ParseFile<int64_t>(root_, path, ParseInteger);
    if (milli) {
      const double celsius = static_cast<double>(*milli) / 1000;
      hottest = hottest ? std::max(*hottest, celsius) : celsius;
    } else if (!hottest) {
      hottest = milli.missing();
    }
  }
  return hottest;
}

BlockMeter::Totals BlockMeter::ReadTotals() const {
  Totals totals;
  totals.psi_cpu_us = Pressure("cpu");
  totals.psi_io_us = Pressure("io");
  totals.psi_memory_us = Pressure("memory");
  totals.steal_ticks = ParseFile<int64_t>(root_, "/proc/stat", ParseStealTicks);
  totals.quota_throttled_us = cpu_stat_path_
                                  ? ParseFile<int64_t>(root_, *cpu_stat_path_, ParseThrottledUs)
                                  : Metric<int64_t>(cpu_stat_path_.missing());
  totals.thermal_throttles = ThermalThrottles();
  return totals;
}

void BlockMeter::Begin() {
  // Before the totals here, after them in End(): what a total grew by between its two readings, it
  // grew by inside the block, so that no share of the block's time exceeds all of it, however long
  // this thread is off the CPU between the readings.
  begin_ns_ = now_ns_();
  begin_ = ReadTotals();
}

BlockReading BlockMeter::End() {
  BlockReading reading;
  reading.start_ns = begin_ns_;
  // The canary first: what follows may let the clock fall.
  reading.canary_ns = CanaryNs();
  const Totals end = ReadTotals();
  reading.end_ns = now_ns_();
  reading.psi_cpu_some_us = Difference(end.psi_cpu_us, begin_.psi_cpu_us);
  reading.psi_io_some_us = Difference(end.psi_io_us, begin_.psi_io_us);
  reading.psi_memory_some_us = Difference(end.psi_memory_us, begin_.psi_memory_us);
  reading.steal_ticks = Difference(end.steal_ticks, begin_.steal_ticks);
  reading.quota_throttled_us = Difference(end.quota_throttled_us, begin_.quota_throttled_us);
  reading.thermal_throttles = Difference(end.thermal_throttles, begin_.thermal_throttles);
  ReadFrequencies(&reading);
  reading.temperature_c = TemperatureC();
  reading.load_average = ParseFile<double>(root_, "/proc/loadavg", ParseLoadAverage);
  return reading;
}

std::vector<DisturbanceSource> DisturbanceSources(const SystemRoot& root) {
  const RunCostMeter run(root);
  BlockMeter block(root);
  block.Begin();
  const BlockReading reading = block.End();
  const std::string cpu = "/sys/devices/system/cpu/cpu*/";
  return {
      {"run-queue delay", "/proc/thread-self/schedstat", run.run_queue_delay()},
      {"page faults and context switches", "getrusage", true},
      {"CPU pressure", "/proc/pressure/cpu", Availability(reading.psi_cpu_some_us)},
      {"I/O pressure", "/proc/pressure/io", Availability(reading.psi_io_some_us)},
      {"memory pressure", "/proc/pressure/memory", Availability(reading.psi_memory_some_us)},
      {"stolen time", "/proc/stat", Availability(reading.steal_ticks)},
      {"CPU quota", "cpu.stat of the control group", Availability(reading.quota_throttled_us)},
      {"thermal throttling", cpu + "thermal_throttle", Availability(reading.thermal_throttles)},
      {"CPU frequency", cpu + "cpufreq", Availability(reading.freq_khz_max)},
      {"temperature", "/sys/class/thermal", Availability(reading.temperature_c)},
      {"load average", "/proc/loadavg", Availability(reading.load_average)},
      {"canary", "a fixed chain of additions", Availability(reading.canary_ns)},
  };
}

}  // namespace inferprobe::measure
