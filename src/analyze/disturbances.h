// Why the machine was not quiet, as findings for people. Samples are tagged, never removed.
//
//   runs:    waiting for a CPU, page faults from disk, being pushed off the CPU
//   blocks:  steal, pressure, clock frequency, temperature, and the canary (a fixed chain of adds)
//   samples: outliers and a first part that never settled, in hyperfine's manner
//
// The rule that people break: a finding is a warning only when it is large enough to move a figure;
// otherwise it is listed and nothing more. It is about the latency samples: what the machine did
// while none was taken (warm-up, profiled runs) is no finding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/latency.h"
#include "profile/disturbance.h"
#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct DisturbanceLimits {
  double delay_share = 0.05;     // of p50: run-queue delay of one run that tags it
  int64_t delay_ns = 20'000;     // and at least this
  double warn_runs = 0.01;       // share of runs that are tagged: above, it is a warning
  double pressure_share = 0.05;  // of a block's time with some task waiting
  double frequency_drop = 0.05;  // of the highest frequency seen
  double canary_slower = 0.05;   // than its fastest block
  double hot_c = 90;
  // Distance from the median in median absolute deviations; hyperfine's limit, to which it too
  // applies no factor: https://github.com/sharkdp/hyperfine/blob/master/src/outlier_detection.rs
  double outlier_deviations = 14.826;
};

// `latency` says which runs are samples; blocks may come in any order and be empty.
std::vector<profile::Disturbance> FindDisturbances(const profile::Profile& profile,
                                                   const LatencyAnalysis& latency,
                                                   std::span<const profile::BlockReading> blocks,
                                                   const DisturbanceLimits& limits = {});

// Indices of samples that are further above the median than `limit` median absolute deviations.
std::vector<uint32_t> SlowOutliers(std::span<const double> samples, double limit);

}  // namespace inferprobe::analyze
