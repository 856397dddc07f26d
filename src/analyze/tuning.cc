#include "analyze/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analyze/paired_ratio.h"
#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

using profile::Status;
using profile::TuneCandidate;
using profile::TuneResult;
using profile::TuneVerdict;

constexpr double kErrorOfAll = 0.05;
constexpr double kNullConfidence = 0.99;

// The rounds that both have; a process that failed ends a candidate's list.
std::span<const double> First(const std::vector<double>& values, size_t n) {
  return std::span(values).first(std::min(n, values.size()));
}

void Judge(const TuneCandidate& baseline, double confidence, TuneCandidate* candidate) {
  const size_t n = std::min(baseline.medians_ms.size(), candidate->medians_ms.size());
  const PairedRatio pairs =
      RatioOfPairs(First(baseline.medians_ms, n), First(candidate->medians_ms, n), confidence);
  candidate->ratio = pairs.ratio;
  candidate->interval = pairs.interval;
  if (candidate->failed) {
    candidate->verdict = TuneVerdict::kFailed;
  } else if (candidate->wrong_outputs) {
    candidate->verdict = TuneVerdict::kWrongOutputs;
  } else if (n < kFewestTuneRounds || !pairs.interval) {
    candidate->verdict = TuneVerdict::kTooFewRounds;
  } else if (pairs.interval->high < 1) {
    candidate->verdict = TuneVerdict::kFaster;
  } else if (pairs.interval->low > 1) {
    candidate->verdict = TuneVerdict::kSlower;
  } else {
    candidate->verdict = TuneVerdict::kNoDifference;
  }
}

std::string Times(double ratio) { return fmt::format("{:.2f}", 1 / ratio); }

std::string Recommendation(const TuneResult& result) {
  const std::string& baseline = result.candidates[0].name;
  const auto is = [&](TuneVerdict verdict) {
    return std::ranges::any_of(result.candidates,
                               [&](const TuneCandidate& each) { return each.verdict == verdict; });
  };
  if (is(TuneVerdict::kTooFewRounds)) {
    return fmt::format("cannot tell: {} rounds are too few, {} are needed (--rounds)",
                       result.rounds, kFewestTuneRounds);
  }
  if (result.null_interval && (result.null_interval->low > 1 || result.null_interval->high < 1)) {
    return fmt::format(
        "cannot tell: {0} against {0} gave {1:.3f} [{2:.3f}, {3:.3f}], which is not 1: the machine "
        "is not quiet enough, try more --rounds",
        baseline, *result.null_ratio, result.null_interval->low, result.null_interval->high);
  }
  const bool compared =
      is(TuneVerdict::kFaster) || is(TuneVerdict::kSlower) || is(TuneVerdict::kNoDifference);
  if (!compared) {
    return "nothing to compare with " + baseline +
           (result.candidates.size() < 2 ? ""
                                         : ": every "
                                           "candidate failed, or had other outputs");
  }
  if (!result.best) {
    return fmt::format(
        "nothing is shown to be better than {} ({} rounds, {:.3g} % for all together)", baseline,
        result.rounds, 100 * (1 - kErrorOfAll));
  }
  const TuneCandidate& best = result.candidates[*result.best];
  std::string text =
      fmt::format("{}: {} times as fast as {} [{}, {}] at {:.3g} % ({} rounds)", best.name,
                  Times(*best.ratio), baseline, Times(best.interval->high),
                  Times(best.interval->low), 100 * result.confidence, result.rounds);
  // Others that are faster, and not told apart from the best.
  std::string like;
  for (const TuneCandidate& other : result.candidates) {
    if (&other == &best || other.verdict != TuneVerdict::kFaster) continue;
    const size_t n = std::min(best.medians_ms.size(), other.medians_ms.size());
    const PairedRatio pairs =
        RatioOfPairs(First(best.medians_ms, n), First(other.medians_ms, n), result.confidence);
    if (pairs.interval->low > 1) continue;
    like += (like.empty() ? "" : ", ") + other.name;
  }
  if (!like.empty()) text += fmt::format("; not told apart from it: {}", like);
  return text;
}

}  // namespace

void JudgeTuning(TuneResult* result) {
  std::vector<TuneCandidate>& candidates = result->candidates;
  TuneCandidate& baseline = candidates[0];
  const size_t compared = std::max<size_t>(candidates.size() - 1, 1);
  result->confidence = 1 - kErrorOfAll / static_cast<double>(compared);

  for (TuneCandidate& candidate : candidates) {
    if (candidate.medians_ms.empty()) {
      candidate.p50_ms = {Status::kNotMeasured, candidate.why};
    } else {
      candidate.p50_ms = Quantile(Sorted(candidate.medians_ms), 0.5);
    }
    if (&candidate != &baseline) Judge(baseline, result->confidence, &candidate);
  }
  baseline.verdict = baseline.failed ? TuneVerdict::kFailed : TuneVerdict::kBaseline;
  baseline.ratio = 1.0;
  baseline.interval = {Status::kNotMeasured, "the others are compared with it"};

  const size_t n = std::min(baseline.medians_ms.size(), result->second_ms.size());
  const PairedRatio null =
      RatioOfPairs(First(baseline.medians_ms, n), First(result->second_ms, n), kNullConfidence);
  result->null_ratio = null.ratio;
  result->null_interval = null.interval;

  result->best.reset();
  const bool quiet =
      null.interval && null.interval->low <= 1 && null.interval->high >= 1 && !baseline.failed;
  for (size_t i = 1; quiet && i < candidates.size(); ++i) {
    if (candidates[i].verdict != TuneVerdict::kFaster) continue;
    if (!result->best || *candidates[i].ratio < *candidates[*result->best].ratio) result->best = i;
  }
  result->recommendation = Recommendation(*result);
}

}  // namespace inferprobe::analyze
