// What a reader of a trace returns: the model, and what the file tells about what was run.
//
// The rule that people break: a reader invents nothing. What the file does not hold keeps the
// status that it starts with.
#pragma once

#include <string>
#include <vector>

#include "profile/facts.h"
#include "profile/metric.h"
#include "profile/model.h"
#include "profile/source.h"

namespace inferprobe::profile {

struct Recording {
  SourceFacts source;
  Profile profile;
  ModelFacts model;
  EngineFacts engine;
  Metric<double> event_cost_ns;          // of recording one event
  std::vector<int64_t> incomplete_runs;  // starts of runs, found by FindRuns, that lost events
  Metric<int64_t> iterations;  // as fixed by `perf --iterations`; missing: its length was open
};

// The tick of a delegate's clock, as the user knows it.
struct DelegateClock {
  std::string name;  // of the delegate, or of its call, as a table shows it
  double ns_per_tick = 1;
};

struct ReadOptions {
  // Length of a unit of the host's times, for formats that do not say it (ETDump: 1 when it was
  // written by ExecuTorch on a system with a nanosecond clock).
  double input_unit_ns = 0;  // 0: the format's own
  std::vector<DelegateClock> delegate_clocks;
};

}  // namespace inferprobe::profile
