#include "analyze/stop_rule.h"

#include <algorithm>

#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

// Larger samples are thinned to this: the interval of a part is wider, so it errs towards going on.
constexpr size_t kMostInspected = 65536;

}  // namespace

const char* StopReasonText(StopReason reason) {
  switch (reason) {
    case StopReason::kContinue:
      return "goes on";
    case StopReason::kIterations:
      return "iterations as asked for";
    case StopReason::kDuration:
      return "duration as asked for";
    case StopReason::kPrecise:
      return "p50 within +-1 %";
    case StopReason::kTimeLimit:
      return "time limit, p50 not within +-1 %";
  }
  return "goes on";
}

bool StopDecider::MedianIsPrecise(std::span<const int64_t> samples_ns) {
  const size_t stride = (samples_ns.size() + kMostInspected - 1) / kMostInspected;
  scratch_.clear();
  for (size_t i = 0; i < samples_ns.size(); i += stride) scratch_.push_back(samples_ns[i]);
  const auto ranks = QuantileRanks(scratch_.size(), 0.5);
  if (!ranks || !ranks->high) return false;
  // Ranks ascend, so each call partitions only what lies behind the one before. It may move what
  // stands in front of its own rank: a value is read before the next call.
  auto begin = scratch_.begin();
  const auto value_at = [&](size_t rank) {
    const auto place = scratch_.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(begin, place, scratch_.end());
    begin = place;
    return static_cast<double>(*place);
  };
  const double low = value_at(ranks->low);
  const double median = value_at(scratch_.size() / 2);
  const double high = value_at(*ranks->high);
  const double below = median - low;
  const double above = high - median;
  return std::max(below, above) <= rule_.p50_half_width * median;
}

StopReason StopDecider::Decide(std::span<const int64_t> samples_ns, int64_t elapsed_ns) {
  const uint64_t n = samples_ns.size();
  if (rule_.iterations && n >= *rule_.iterations) return StopReason::kIterations;
  if (rule_.duration_s) {
    const bool over = static_cast<double>(elapsed_ns) >= *rule_.duration_s * 1e9;
    if (over && n >= rule_.fewest) return StopReason::kDuration;
  }
  if (rule_.iterations || rule_.duration_s || n < rule_.fewest) return StopReason::kContinue;
  if (n >= rule_.min_iterations && elapsed_ns >= rule_.min_ns && MedianIsPrecise(samples_ns)) {
    return StopReason::kPrecise;
  }
  return elapsed_ns >= rule_.max_ns ? StopReason::kTimeLimit : StopReason::kContinue;
}

}  // namespace inferprobe::analyze
