// What recording costs on this machine: measured, so that results can say how much of a time is
// ours (`probe_cost`).
#pragma once

#include "inferprobe/clock.h"

namespace inferprobe::record {

struct ProbeCosts {
  double clock_read_ns = 0;  // one NowTicks()
  double event_ns = 0;       // one slice: open, two readings, close, publish. Not what an engine
                             // does to call its tracer
  double tick_ns = 0;        // the clock's resolution: no two readings differ by less
};

// Medians of batches in a ring of its own; about 1 ms.
INFERPROBE_API ProbeCosts MeasureProbeCosts();
// The same, measured once.
INFERPROBE_API const ProbeCosts& CalibratedCosts();

}  // namespace inferprobe::record
