#include "analyze/steady_state.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

constexpr double kSignificant = 0.01;
constexpr double kMaterial = 0.01;  // of the median; p50's own target is +-1 %
constexpr size_t kShortestSide = 3;
// Of the lag-1 correlation. Silero-vad iterations had 0.46; a clean ramp has nearly 1, and
// believing that would hide it.
constexpr double kLargestCorrelation = 0.6;

// Mid-ranks from 1.
std::vector<double> Ranks(std::span<const double> samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return samples[a] < samples[b]; });
  std::vector<double> ranks(samples.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && samples[order[j]] == samples[order[i]]) ++j;
    const double rank = (static_cast<double>(i) + static_cast<double>(j) + 1) / 2;
    for (; i < j; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

// How much wider the statistic spreads than with independent samples. The correlation is taken
// around the means of both sides of `at`: the step itself is none.
double VarianceInflation(std::span<const double> ranks, size_t at) {
  const double before = Mean(ranks.first(at));
  const double after = Mean(ranks.subspan(at));
  double squares = 0;
  double products = 0;
  double previous = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double centred = ranks[i] - (i < at ? before : after);
    squares += centred * centred;
    if (i != 0) products += centred * previous;
    previous = centred;
  }
  const double r = squares > 0 ? std::clamp(products / squares, 0.0, kLargestCorrelation) : 0.0;
  return (1 + r) / (1 - r);
}

// P(max over the split points of |Z| >= z), Miller and Siegmund (1982), with the split restricted
// to [share, 1 - share] of the samples.
double MaximumPValue(double z, double share) {
  if (z < 1) return 1;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double range = std::log((1 - share) * (1 - share) / (share * share));
  return std::min(1.0, 4 * density / z + density * (z - 1 / z) * range);
}

double MedianOf(std::span<const double> samples) { return Quantile(Sorted(samples), 0.5); }

double RelativeShift(double from, double to) {
  return to == 0 ? (from == 0 ? 0 : 1) : std::fabs(from - to) / std::fabs(to);
}

}  // namespace

ChangePoint FindChangePoint(std::span<const double> samples) {
  ChangePoint result;
  const size_t n = samples.size();
  if (n < 2 * kShortestSide + 1) return result;
  const std::vector<double> ranks = Ranks(samples);
  const auto size = static_cast<double>(n);
  const double mean = (size + 1) / 2;
  double squares = 0;  // of centred ranks: corrects the variance for ties
  for (const double rank : ranks) squares += (rank - mean) * (rank - mean);
  if (squares == 0) return result;  // all samples are equal
  const double variance = squares / (size - 1);

  double sum = 0;
  double best = -1;
  for (size_t t = 1; t + kShortestSide <= n; ++t) {
    sum += ranks[t - 1] - mean;
    if (t < kShortestSide) continue;
    const auto before = static_cast<double>(t);
    const double z = std::fabs(sum) / std::sqrt(variance * before * (size - before) / size);
    if (z > best) {
      best = z;
      result.at = t;
    }
  }
  const double z = best / std::sqrt(VarianceInflation(ranks, result.at));
  result.p_value = MaximumPValue(z, static_cast<double>(kShortestSide) / size);
  return result;
}

SteadyState FindSteadyState(std::span<const double> samples) {
  SteadyState state;
  const size_t n = samples.size();
  if (n < kSteadyStateSamples) return state;
  state.decided = true;
  const size_t half = n / 2;
  bool first = true;
  while (n - state.start >= kSteadyStateSamples / 2) {
    const std::span<const double> rest = samples.subspan(state.start);
    const ChangePoint change = FindChangePoint(rest);
    if (first) state.p_value = change.p_value;
    first = false;
    if (change.p_value >= kSignificant) return state;
    if (RelativeShift(MedianOf(rest.first(change.at)), MedianOf(rest.subspan(change.at))) <
        kMaterial) {
      // A slow drift has too small a step anywhere; its ends still differ.
      const size_t third = rest.size() / 3;
      state.steady =
          RelativeShift(MedianOf(rest.first(third)), MedianOf(rest.last(third))) < kMaterial;
      return state;
    }
    if (state.start + change.at > half) {
      // Less than a tenth of the samples at the very end is a disturbance, not a level.
      state.steady = rest.size() - change.at < n / 10;
      return state;
    }
    state.start += change.at;
  }
  return state;
}

}  // namespace inferprobe::analyze
