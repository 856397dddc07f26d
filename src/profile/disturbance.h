// What the machine did during one block of runs (about 50 ms), from sources that need no
// privileges. measure/machine/ reads it, analyze/ turns it into warnings.
//
// The rule that people break: these are machine-wide figures (pressure, steal, load), and this
// process is part of the machine. They say that a block was disturbed, not by how much a run was;
// what one run lost is in RunDisturbance.
#pragma once

#include <cstdint>

#include "profile/metric.h"

namespace inferprobe::profile {

// Differences are end minus start of the block; the rest was read at its end.
struct BlockReading {
  int64_t start_ns = 0;  // CLOCK_MONOTONIC
  int64_t end_ns = 0;
  uint16_t process = 0;

  // Time in which at least one task of the machine waited (PSI "some"), difference.
  Metric<int64_t> cpu_pressure_ns;
  Metric<int64_t> io_pressure_ns;
  Metric<int64_t> memory_pressure_ns;
  // Time in which the hypervisor ran something else, summed over CPUs, difference; ticks of 10 ms.
  Metric<int64_t> steal_ns;
  // Time in which this process's control group was held back by its CPU quota, difference.
  Metric<int64_t> quota_throttled_ns;
  // Times that the CPUs were slowed because of heat, difference.
  Metric<int64_t> thermal_throttles;
  Metric<double> frequency_mhz;  // mean over the CPUs that this process may use
  Metric<double> temperature_c;  // of the hottest zone
  Metric<double> load_average;   // over one minute
  // A fixed chain of dependent additions, about 100 us; longer means a slower clock. The fastest
  // of a few, so that an interruption does not count.
  Metric<int64_t> canary_ns;
};

}  // namespace inferprobe::profile
