#include "measure/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analyze/tuning.h"
#include "base/anonymous_file.h"
#include "measure/machine/environment.h"
#include "measure/random_order.h"

namespace inferprobe::measure {
namespace {

using profile::PerfResult;
using profile::TuneCandidate;
using profile::TuneResult;

// Of a process, where the user fixes nothing: ten pairs of 0.2 s find 2 %.
constexpr double kSecondsOfProcess = 0.2;
constexpr uint64_t kFewestRuns = 2;  // that have a median

std::string ThreadsText(int64_t threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

std::vector<int> DefaultCandidates() {
  const auto cpus = static_cast<int>(std::max<size_t>(AllowedCpus().size(), 1));
  std::vector<int> threads;
  for (int n = 1; n < cpus; n *= 2) threads.push_back(n);
  threads.push_back(cpus);
  return threads;
}

class Tune {
 public:
  Tune(TuneOptions options, ProgressSink progress, const std::atomic<bool>* cancel)
      : options_(std::move(options)), progress_(std::move(progress)), cancel_(cancel) {}

  Result<TuneResult> Run();

 private:
  Result<void> Check();
  Result<PerfResult> Measure(const TuneCandidate& candidate, bool explain);
  Result<void> MeasureRound(uint64_t round);
  Result<void> Take(size_t slot);
  Result<void> Explain(TuneCandidate* candidate);
  [[nodiscard]] bool Cancelled() const { return cancel_ != nullptr && cancel_->load(); }

  TuneOptions options_;
  ProgressSink progress_;
  const std::atomic<bool>* cancel_;
  std::string kept_outputs_;  // "": nobody's yet
  std::string outputs_path_;
  std::string step_;  // for the progress line
  TuneResult result_;
};

Result<void> Tune::Check() {
  if (options_.rounds < analyze::kFewestTuneRounds || options_.rounds > 1000) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} rounds are not in {} to 1000", options_.rounds,
                                 analyze::kFewestTuneRounds));
  }
  if (options_.perf.iterations && *options_.perf.iterations < kFewestRuns) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} iterations are too few: a process counts with its median, "
                                 "which needs {}",
                                 *options_.perf.iterations, kFewestRuns));
  }
  std::set<int> seen;
  for (const int threads : options_.threads) {
    if (threads < 1 || threads > 4096) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} threads are not in 1 to 4096", threads));
    }
    if (!seen.insert(threads).second) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} threads are given twice", threads));
    }
  }
  return {};
}

Result<PerfResult> Tune::Measure(const TuneCandidate& candidate, bool explain) {
  PerfOptions perf = options_.perf;
  perf.threads = static_cast<int>(candidate.threads);
  perf.processes = 1;
  perf.run_id.clear();
  if (!perf.iterations && !perf.duration_s) perf.duration_s = kSecondsOfProcess;
  if (explain) {
    perf.regions = "busy";
  } else {
    perf.latency_only = true;
    (kept_outputs_.empty() ? perf.outputs_to : perf.outputs_expected) = outputs_path_;
  }
  const ProgressSink sink = [this](const Progress& progress) {
    if (!progress_) return;
    Progress shown = progress;
    if (shown.notice.empty()) shown.phase = step_;
    progress_(shown);
  };
  return RunPerf(perf, sink, cancel_);
}

// Slot 0 is the baseline, the last one the baseline once more, those between are candidates.
Result<void> Tune::Take(size_t slot) {
  const bool second = slot == result_.candidates.size();
  TuneCandidate& candidate = result_.candidates[second ? 0 : slot];
  if (candidate.failed) return {};
  auto measured = Measure(candidate, false);
  if (Cancelled()) return tl::unexpected(measured ? Error{} : measured.error());
  std::string failure;
  if (!measured) {
    failure = measured.error().message;
  } else if (!measured->processes.empty() && !measured->processes.front().failure.empty()) {
    failure = measured->processes.front().failure;
  } else if (!measured->latency.percentiles.front().value) {
    failure =
        "its latency has no median: " + measured->latency.percentiles.front().value.missing().hint;
  }
  const bool baseline = second || slot == 0;
  if (!failure.empty()) {
    if (!measured && baseline) return tl::unexpected(std::move(measured).error());
    if (baseline) return MakeError(ErrorCode::kCrashed, std::move(failure));
    candidate.failed = true;
    candidate.why = std::move(failure);
    return {};
  }
  const profile::OutputCheck& outputs = measured->outputs;
  if (outputs.verdict == profile::OutputCheck::Verdict::kMismatch) {
    if (baseline) {
      return MakeError(
          ErrorCode::kEngine,
          "two processes of the default differ in their outputs: " + outputs.text,
          "no candidate's outputs can be told right from wrong: the model draws random numbers, or "
          "keeps state outside the process");
    }
    candidate.wrong_outputs = true;
    candidate.why = outputs.text;
  }
  if (outputs.max_abs_error &&
      (!candidate.max_abs_error || *outputs.max_abs_error > *candidate.max_abs_error)) {
    candidate.max_abs_error = *outputs.max_abs_error;
  }
  if (kept_outputs_.empty()) {
    kept_outputs_ = outputs_path_;
    result_.model = measured->model.path;
    result_.engine = fmt::format("{} {}", measured->engine.title, measured->engine.version);
    if (measured->engine.threads) {
      candidate.name = fmt::format("default ({})", ThreadsText(*measured->engine.threads));
    }
  }
  const double p50 = *measured->latency.percentiles.front().value;
  (second ? result_.second_ms : candidate.medians_ms).push_back(p50);
  return {};
}

Result<void> Tune::MeasureRound(uint64_t round) {
  SplitMix64 order(options_.perf.seed.value_or(0) + round);
  std::vector<size_t> slots(result_.candidates.size() + 1);
  for (size_t i = 0; i < slots.size(); ++i) slots[i] = i;
  // The first of all is the baseline, whose outputs the others are compared with.
  const size_t fixed = round == 0 ? 1 : 0;
  for (size_t i = slots.size() - 1; i > fixed; --i) {
    const size_t with = fixed + order.Below(static_cast<uint32_t>(i - fixed + 1));
    std::swap(slots[i], slots[with]);
  }
  for (const size_t slot : slots) {
    const bool second = slot == result_.candidates.size();
    step_ = fmt::format("round {} of {}, {}", round + 1, options_.rounds,
                        result_.candidates[second ? 0 : slot].name);
    INFERPROBE_RETURN_IF_ERROR(Take(slot));
  }
  return {};
}

Result<void> Tune::Explain(TuneCandidate* candidate) {
  if (candidate->failed) return {};
  step_ = "regions of " + candidate->name;
  auto measured = Measure(*candidate, true);
  if (Cancelled()) return tl::unexpected(measured ? Error{} : measured.error());
  if (!measured) {
    const profile::Missing why{profile::Status::kUnavailable, measured.error().message};
    candidate->efficiency = candidate->idle_core_ns = why;
    candidate->serial_share = candidate->process_cpu_ns = why;
    return {};
  }
  if (!measured->regions) return {};
  const profile::RegionReport& regions = *measured->regions;
  candidate->efficiency = regions.efficiency;
  candidate->idle_core_ns = regions.idle_core_ns;
  candidate->serial_share = regions.serial_share;
  candidate->process_cpu_ns = regions.process_cpu_ns;
  return {};
}

Result<TuneResult> Tune::Run() {
  INFERPROBE_RETURN_IF_ERROR(Check());
  auto file = base::AnonymousFile::Create("inferprobe outputs");
  if (!file) return tl::unexpected(file.error());
  outputs_path_ = file->path();
  result_.unit = "fresh processes";
  result_.candidates.push_back({.name = "default"});
  for (const int threads : options_.threads.empty() ? DefaultCandidates() : options_.threads) {
    result_.candidates.push_back({.name = ThreadsText(threads), .threads = threads});
  }
  for (uint64_t round = 0; round < options_.rounds; ++round) {
    INFERPROBE_RETURN_IF_ERROR(MeasureRound(round));
  }
  result_.rounds = options_.rounds;
  if (options_.explain) {
    for (TuneCandidate& candidate : result_.candidates) {
      INFERPROBE_RETURN_IF_ERROR(Explain(&candidate));
    }
  }
  analyze::JudgeTuning(&result_);
  return std::move(result_);
}

}  // namespace

Result<TuneResult> RunTune(const TuneOptions& options, const ProgressSink& progress,
                           const std::atomic<bool>* cancel) {
  return Tune(options, progress, cancel).Run();
}

}  // namespace inferprobe::measure
