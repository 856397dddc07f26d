// Which grain, and how many threads, a ParallelFor runs fastest with: tried out beside each other,
// decided by the clock.
//
//   inferprobe::LoopTuningOptions options;
//   options.candidates = {{.grain = 16}, {.grain = 64}, {.grain = 64, .threads = 2}};
//   options.outputs_are_right = [&] { return y == expected; };
//   auto tuning = inferprobe::TuneLoop(executor, [&](const inferprobe::ExecutorView& view,
//                                                    int64_t grain) {
//     inferprobe::ParallelFor(view, rows, grain, body);
//   }, options);
//   tuning->recommendation;      // a sentence, with its confidence
//
// The first candidate is what the others are compared with. All run in turns, in random order, each
// round; one wins by right outputs and an interval of its ratio to the first that is wholly below
// 1. What explains a candidate (busy_utilization, idle cores) decides nothing.
//
// The rule that people break: rounds in one process share its memory layout and its place on the
// CPUs. The interval says how sure this process is; `inferprobe tune` takes fresh processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inferprobe/api.h"
#include "inferprobe/executor.h"
#include "inferprobe/result.h"

namespace inferprobe {

struct LoopCandidate {
  int64_t grain = 1;
  int threads = 0;  // 0: all of the executor's
};

struct LoopTuningOptions {
  std::vector<LoopCandidate> candidates;
  int rounds = 15;
  double block_s = 0.01;  // a round repeats a candidate's loop for that long
  // Looked at after each candidate's first run; a candidate whose outputs are wrong cannot win.
  // Without it nobody looks, and the recommendation says so.
  std::function<bool()> outputs_are_right;
  uint64_t seed = 0;  // of the order of the rounds
};

struct LoopTuningRow {
  LoopCandidate candidate;
  double loop_ns = 0;  // median over rounds of the median of a block; std::chrono::steady_clock
  // To the first candidate's, geometric mean over rounds, with its interval.
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;
  std::optional<bool> outputs_are_right;  // nullopt: not checked
  std::string verdict;  // "baseline", "faster", "slower", "no_difference", "wrong_outputs", ...
  // Over the outermost regions of one run more; nullopt: none was seen, or not all of them, or not
  // all that took part in them.
  std::optional<double> busy_utilization;
  std::optional<uint64_t> idle_core_ns;
};

struct LoopTuning {
  std::vector<LoopTuningRow> rows;  // as the candidates
  double confidence = 0;            // of each interval: 95 % for all of them together
  std::optional<size_t> best;  // nullopt: nothing is better than the first, or it cannot be told
  std::string recommendation;
};

// kInvalidArgument: no candidates, under 3 rounds, a grain below 1, no loop. Whatever `loop` throws
// is thrown on.
INFERPROBE_API Result<LoopTuning> TuneLoop(
    CpuExecutor& executor, const std::function<void(const ExecutorView& view, int64_t grain)>& loop,
    const LoopTuningOptions& options);

}  // namespace inferprobe
