// Latency from the runs without profiling: the only place where it comes from.
//
// The rule that people break: warm-up is what was asked for plus what a change point finds; those
// runs are kept apart, not thrown away (WarmUp::samples_ms).
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct LatencyOptions {
  uint64_t warmup_requested = 0;
  // false: a change point is reported, and excludes nothing.
  bool find_steady_state = true;
};

struct LatencyAnalysis {
  profile::Latency latency;
  profile::WarmUp warmup;
  profile::Metric<double> first_run_ms;  // median over processes
  // Index into Profile::runs of each latency sample, per process.
  std::vector<std::vector<uint32_t>> runs;
};

LatencyAnalysis AnalyzeLatency(const profile::Profile& profile, const LatencyOptions& options);

// The statistics alone, of samples that are already chosen (one list per process).
profile::Latency SummarizeLatency(std::vector<std::vector<double>> samples_ms);

}  // namespace inferprobe::analyze
