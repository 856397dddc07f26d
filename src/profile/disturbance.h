// What the machine did during one block of runs, as plain readings: measure/ takes them, analyze/
// turns them into warnings.
//
// The rule that people break: a source that cannot be read is a Metric with its reason, not 0. Zero
// steal is good news; unreadable steal is none.
#pragma once

#include <cstdint>

#include "profile/metric.h"

namespace inferprobe::profile {

// Differences over the block, except where it says "at".
struct BlockReading {
  uint16_t process = 0;
  int64_t start_ns = 0;  // CLOCK_MONOTONIC
  int64_t end_ns = 0;
  Metric<int64_t> steal_ticks;      // of USER_HZ (10 ms), all CPUs
  Metric<int64_t> psi_cpu_some_us;  // some task waited for a CPU
  Metric<int64_t> psi_io_some_us;
  Metric<int64_t> psi_memory_some_us;
  Metric<int64_t> quota_throttled_us;  // this control group was held back by its CPU quota
  Metric<int64_t> thermal_throttles;   // times that the kernel slowed a CPU because of heat
  Metric<int64_t> freq_khz_min;        // over the CPUs, at the block's end
  Metric<int64_t> freq_khz_max;
  Metric<double> load_average;     // over one minute, at the block's end
  Metric<double> temperature_c;    // hottest zone, at the block's end
  Metric<int64_t> process_cpu_ns;  // of all threads of the process
  Metric<int64_t> outside_cpu_ns;  // of the measuring thread, between the runs
  Metric<int64_t> canary_ns;       // a fixed chain of dependent adds, about 100 us when all is well
};

}  // namespace inferprobe::profile
