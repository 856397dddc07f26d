// What disturbs a measurement, read from sources that need no privileges.
//
//   RunCostMeter run_cost;           // on the measuring thread
//   BlockMeter block;
//   block.Begin();
//   for (...) { run_cost.Begin(); engine->Run(false); RunDisturbance cost = run_cost.End(); }
//   BlockReading reading = block.End();
//
// The rule that people break: these readings happen outside the timed part of a run. A pair of
// run_cost readings costs about 2 us, a pair of block readings some 200 us, most of it the canary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "measure/machine/system_file.h"
#include "measure/machine/system_text.h"
#include "profile/disturbance.h"
#include "profile/metric.h"
#include "profile/model.h"

namespace inferprobe::measure {

// Of the thread that made it, and to be used by that thread only. Allocates nothing after that.
class RunCostMeter {
 public:
  explicit RunCostMeter(const SystemRoot& root = {});

  void Begin();
  // Since Begin(). Without schedstat run_queue_delay_ns is -1.
  profile::RunDisturbance End();

  // Why run-queue delays are missing; true where they are there.
  [[nodiscard]] const profile::Metric<bool>& run_queue_delay() const { return run_queue_delay_; }

 private:
  struct Reading {
    int64_t waiting_ns = -1;
    int64_t major_faults = 0;
    int64_t minor_faults = 0;
    int64_t involuntary_switches = 0;
    int64_t voluntary_switches = 0;
  };
  [[nodiscard]] Reading Read() const;

  base::OwnedFd schedstat_;
  profile::Metric<bool> run_queue_delay_;
  Reading begin_;
};

class BlockMeter {
 public:
  // CPUs beyond the first 16 that this process may use are not asked for frequency and heat: on
  // many machines each such question interrupts that CPU.
  // `now_ns` is the clock that times the block; tests give one of their own.
  explicit BlockMeter(SystemRoot root = {}, std::function<int64_t()> now_ns = {});

  void Begin();
  // Since Begin(). `process` is left at 0.
  profile::BlockReading End();

 private:
  struct Totals {
    profile::Metric<int64_t> psi_cpu_us, psi_io_us, psi_memory_us;
    profile::Metric<int64_t> steal_ticks;
    profile::Metric<int64_t> quota_throttled_us;
    profile::Metric<int64_t> thermal_throttles;
  };
  [[nodiscard]] Totals ReadTotals() const;
  [[nodiscard]] profile::Metric<int64_t> Pressure(const char* resource) const;
  [[nodiscard]] profile::Metric<int64_t> ThermalThrottles() const;
  void ReadFrequencies(profile::BlockReading* reading) const;
  [[nodiscard]] profile::Metric<double> TemperatureC() const;

  SystemRoot root_;
  std::function<int64_t()> now_ns_;
  std::vector<int> cpus_;
  profile::Metric<std::string> cpu_stat_path_;
  std::vector<std::string> thermal_zones_;
  int64_t begin_ns_ = 0;
  Totals begin_;
};

// For `inferprobe doctor`: each source, and whether it can be read here.
struct DisturbanceSource {
  std::string name;   // "run-queue delay"
  std::string where;  // "/proc/thread-self/schedstat"
  profile::Metric<bool> available;
};
std::vector<DisturbanceSource> DisturbanceSources(const SystemRoot& root = {});

}  // namespace inferprobe::measure
