// `tune`, as a function: candidates against the default, each round a fresh process of each in
// random order, outputs compared with the default's.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "inferprobe/result.h"
#include "measure/perf.h"
#include "profile/tune_result.h"

namespace inferprobe::measure {

struct TuneOptions {
  PerfOptions perf;          // model, engine, inputs, ...; without outputs, threads and processes
  std::vector<int> threads;  // candidates; empty: 1, 2, 4, ... up to the CPUs
  uint32_t rounds = 10;
  bool explain = true;  // one more process of each, with its regions looked at
};

// `cancel` as in RunPerf. A candidate that fails is a row that says so; the default's failure is
// the error.
Result<profile::TuneResult> RunTune(const TuneOptions& options, const ProgressSink& progress = {},
                                    const std::atomic<bool>* cancel = nullptr);

}  // namespace inferprobe::measure
