// What recording costs on this machine: measured, so that results can say how much of a time is
// ours (`probe_cost`).
#pragma once

#include <cstdint>
#include <span>

#include "inferprobe/clock.h"

namespace inferprobe::record {

struct ProbeCosts {
  double clock_read_ns = 0;  // one NowTicks()
  double event_ns = 0;       // one slice: open, two readings, close, publish. Not what an engine
                             // does to call its tracer
  double tick_ns = 0;        // what the clock advances by: its resolution
};

// The step of a counter whose readings lay so far apart: the greatest common divisor. A counter may
// be named for a fast tick and advance by many at a time (an AMD EPYC: 10 ns of TSC at once). Never
// below 1; zeros say nothing.
INFERPROBE_API uint64_t StepTicks(std::span<const int64_t> deltas);

// Medians of batches in a ring of its own; about 1 ms.
INFERPROBE_API ProbeCosts MeasureProbeCosts();
// The same, measured once.
INFERPROBE_API const ProbeCosts& CalibratedCosts();

}  // namespace inferprobe::record
