// CPU time of the process over a block of runs, and what of it the measuring thread spent between
// them.
//
// The rule that people break: the process's clock is no measure of one run. The kernel adds what
// runs on other CPUs at their next tick, milliseconds later; over a block that evens out.
#pragma once

#include <cstdint>

#include "measure/run_hook.h"
#include "profile/disturbance.h"
#include "profile/metric.h"

namespace inferprobe::measure {

// Of the thread that uses it. A run costs it two readings of the thread's clock, outside of the
// timed part.
class CpuMeter final : public RunHook {
 public:
  void BeginBlock();
  void BeforeRun(profile::RunMode mode) override;
  void AfterRun(profile::RunMode mode) override;
  // Fills process_cpu_ns and outside_cpu_ns.
  void EndBlock(profile::BlockReading* reading) const;

 private:
  profile::Metric<int64_t> process_ns_;
  profile::Metric<int64_t> thread_ns_;
  int64_t run_begin_ns_ = 0;
  int64_t in_runs_ns_ = 0;
};

}  // namespace inferprobe::measure
