#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/statistics.h"
#include "analyze/tuning.h"
#include "inferprobe/region.h"
#include "inferprobe/tune.h"
#include "measure/random_order.h"
#include "profile/tune_result.h"

namespace inferprobe {
namespace {

using Loop = std::function<void(const ExecutorView& view, int64_t grain)>;

Result<void> Check(const Loop& loop, const LoopTuningOptions& options) {
  const auto refuse = [](std::string why) {
    return MakeError(ErrorCode::kInvalidArgument, std::move(why));
  };
  if (!loop) return refuse("there is no loop to tune");
  if (options.candidates.empty()) return refuse("there are no candidates");
  if (options.rounds < static_cast<int>(analyze::kFewestTuneRounds)) {
    return refuse(fmt::format("{} rounds are too few: {} are needed", options.rounds,
                              analyze::kFewestTuneRounds));
  }
  if (!(options.block_s > 0 && options.block_s <= 3600)) {
    return refuse(fmt::format("a block of {} s is not in 0 to 3600", options.block_s));
  }
  for (const LoopCandidate& candidate : options.candidates) {
    if (candidate.grain < 1)
      return refuse(fmt::format("a grain of {} is below 1", candidate.grain));
    if (candidate.threads < 0) {
      return refuse(fmt::format("{} threads are below 0", candidate.threads));
    }
  }
  return {};
}

std::string NameOf(const LoopCandidate& candidate) {
  std::string name = fmt::format("grain {}", candidate.grain);
  if (candidate.threads > 0) {
    name += fmt::format(", {} thread{}", candidate.threads, candidate.threads == 1 ? "" : "s");
  }
  return name;
}

// The median of the loops of a block, in ms: one that lost its CPU does not count.
double Block(CpuExecutor& executor, const Loop& loop, const LoopCandidate& candidate,
             double seconds) {
  using Clock = std::chrono::steady_clock;
  using Ms = std::chrono::duration<double, std::milli>;
  constexpr size_t kMostLoops = 100'000;
  const ExecutorView view(executor, nullptr, candidate.threads);
  std::vector<double> loops_ms;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  auto last = Clock::now();
  do {
    loop(view, candidate.grain);
    const auto now = Clock::now();
    loops_ms.push_back(Ms(now - last).count());
    last = now;
  } while (last < end && loops_ms.size() < kMostLoops);
  // A loop that the clock does not see has still taken some time.
  return std::max(analyze::Quantile(analyze::Sorted(loops_ms), 0.5), 1e-6);
}

// Sums over all outermost regions, or nothing: a part of them would look like the whole.
void Explain(CpuExecutor& executor, const Loop& loop, LoopTuningRow* row) {
  ParallelRegionCollector regions;
  loop(ExecutorView(executor, &regions, row->candidate.threads), row->candidate.grain);
  const ParallelRegionReport report = regions.Report();
  if (report.dropped > 0) return;
  double busy = 0;
  double whole = 0;
  std::optional<uint64_t> idle;
  for (const ParallelRegionEvent& region : report.events) {
    // A region in the body of another is a part of that one.
    if (region.nested_inline || region.parent_region_id) continue;
    if (!region.busy_ns() || !region.idle_core_ns()) return;
    busy += static_cast<double>(*region.busy_ns());
    whole += static_cast<double>(region.wall_time_ns) * region.admitted_threads;
    idle = idle.value_or(0) + *region.idle_core_ns();
  }
  row->idle_core_ns = idle;
  if (whole > 0) row->busy_utilization = busy / whole;
}

}  // namespace

Result<LoopTuning> TuneLoop(CpuExecutor& executor, const Loop& loop,
                            const LoopTuningOptions& options) {
  INFERPROBE_RETURN_IF_ERROR(Check(loop, options));
  profile::TuneResult judged;
  LoopTuning tuning;
  for (const LoopCandidate& candidate : options.candidates) {
    profile::TuneCandidate& made = judged.candidates.emplace_back();
    made.name = NameOf(candidate);
    LoopTuningRow& row = tuning.rows.emplace_back();
    row.candidate = candidate;
    // Also warms up.
    loop(ExecutorView(executor, nullptr, candidate.threads), candidate.grain);
    if (options.outputs_are_right) row.outputs_are_right = options.outputs_are_right();
    made.wrong_outputs = row.outputs_are_right == false;
    Explain(executor, loop, &row);
  }
  if (judged.candidates[0].wrong_outputs) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the outputs of {} are wrong, and the others are compared with it",
                                 judged.candidates[0].name));
  }
  measure::SplitMix64 order(options.seed);
  std::vector<size_t> slots(options.candidates.size() + 1);
  std::iota(slots.begin(), slots.end(), size_t{0});
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = slots.size() - 1; i > 0; --i) {
      std::swap(slots[i], slots[order.Below(static_cast<uint32_t>(i + 1))]);
    }
    for (const size_t slot : slots) {
      const bool second = slot == options.candidates.size();
      const double ms =
          Block(executor, loop, options.candidates[second ? 0 : slot], options.block_s);
      (second ? judged.second_ms : judged.candidates[slot].medians_ms).push_back(ms);
    }
  }
  judged.rounds = static_cast<uint64_t>(options.rounds);
  analyze::JudgeTuning(&judged);

  for (size_t i = 0; i < tuning.rows.size(); ++i) {
    const profile::TuneCandidate& from = judged.candidates[i];
    LoopTuningRow& row = tuning.rows[i];
    row.loop_ns = *from.p50_ms * 1e6;
    row.ratio = *from.ratio;
    row.ratio_low = from.interval ? from.interval->low : row.ratio;
    row.ratio_high = from.interval ? from.interval->high : row.ratio;
    row.verdict = profile::TuneVerdictName(from.verdict);
  }
  tuning.confidence = judged.confidence;
  tuning.best = judged.best;
  tuning.recommendation = std::move(judged.recommendation);
  if (!options.outputs_are_right) tuning.recommendation += "; outputs not checked";
  return tuning;
}

}  // namespace inferprobe
