// What `tune` found: candidates against the default, by the clock. Plain data; analyze/tuning
// judges it, report/ prints it.
//
// The rule that people break: what explains a candidate (efficiency, idle cores, CPU time) is no
// part of its verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::profile {

enum class TuneVerdict : uint8_t {
  kBaseline,  // what the others are compared with
  kFaster,    // the whole interval of the ratio is below 1
  kSlower,    // and above
  kNoDifference,
  kWrongOutputs,  // they are not the baseline's: out of the question, however fast
  kFailed,        // it did not run
  kTooFewRounds,
};
const char* TuneVerdictName(TuneVerdict verdict);  // "no_difference"
const char* TuneVerdictText(TuneVerdict verdict);  // "no difference shown"

struct TuneCandidate {
  std::string name{};   // "default", "2 threads"
  int64_t threads = 0;  // 0: not set
  int64_t grain = 0;    // 0: not set
  // Of each round, in ms: the median of its runs; those of one round belong together.
  std::vector<double> medians_ms{};
  std::string why{};  // it failed, or what is wrong with its outputs
  bool failed = false;
  bool wrong_outputs = false;
  Metric<double> max_abs_error{};  // of its outputs against the baseline's

  // By the judge.
  TuneVerdict verdict = TuneVerdict::kTooFewRounds;
  Metric<double> p50_ms{};      // the median of medians_ms
  Metric<double> ratio{};       // to the baseline: below 1 is faster
  Metric<Interval> interval{};  // at TuneResult::confidence

  // Why it may be so; of one more process, or run, with regions looked at.
  Metric<double> efficiency{};      // busy / (threads x wall) of its parallel regions
  Metric<double> idle_core_ns{};    // per run: an upper bound of what there is to win, no saving
  Metric<double> serial_share{};    // of the run: fewer than two threads were busy
  Metric<double> process_cpu_ns{};  // per run
};

struct TuneResult {
  std::string model;
  std::string engine;
  std::vector<TuneCandidate> candidates;  // the baseline first
  std::vector<double> second_ms;          // the baseline once more in each round: A against A
  uint64_t rounds = 0;
  std::string unit;  // what a round's figure is of: "fresh processes", "blocks in one process"

  // By the judge.
  double confidence = 0;  // of each interval: 95 % for all of them together
  Metric<double> null_ratio;
  Metric<Interval> null_interval;  // at 99 %
  std::optional<size_t> best;      // nullopt: nothing is better, or it cannot be told
  std::string recommendation;      // a sentence
};

}  // namespace inferprobe::profile
