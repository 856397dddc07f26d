#include "analyze/steady_state.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

constexpr double kSignificant = 0.01;
constexpr double kMaterial = 0.01;  // of the median; p50's own target is +-1 %
constexpr size_t kShortestSide = 3;
constexpr double kLargestScore = 5;
// Of the lag-1 correlation. Silero-vad iterations had 0.46; a clean ramp has nearly 1, and
// believing that would hide it.
constexpr double kLargestCorrelation = 0.6;

double MedianOf(std::span<const double> samples) { return Quantile(Sorted(samples), 0.5); }

// Distances from the median in units of the sample's spread, cut off so that one outlier weighs no
// more than a few ordinary samples. The spread comes from neighbours, which a step leaves alone.
// Empty when all samples are equal.
std::vector<double> Scores(std::span<const double> samples) {
  const double median = MedianOf(samples);
  std::vector<double> steps(samples.size() - 1);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = std::fabs(samples[i + 1] - samples[i]);
  std::vector<double> distances(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) distances[i] = std::fabs(samples[i] - median);
  double spread = MedianOf(steps) / 0.954;  // of normal samples: their standard deviation
  if (spread <= 0) spread = 1.483 * MedianOf(distances);  // a coarse clock repeats itself
  if (spread <= 0) spread = Mean(distances);
  if (spread <= 0) return {};
  std::vector<double> scores(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    scores[i] = std::clamp((samples[i] - median) / spread, -kLargestScore, kLargestScore);
  }
  return scores;
}

struct WithinSides {
  double variance = 0;   // around the means of the two sides of a split: the step itself is none
  double inflation = 1;  // how much wider a sum of such samples spreads than of independent ones
};

WithinSides Within(std::span<const double> scores, size_t at) {
  const double before = Mean(scores.first(at));
  const double after = Mean(scores.subspan(at));
  double squares = 0;
  double products = 0;
  double previous = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double centred = scores[i] - (i < at ? before : after);
    squares += centred * centred;
    products += centred * previous;
    previous = centred;
  }
  double r = squares > 0 ? products / squares : 0;
  // In small samples the estimate is too low (Kendall 1954: by (1 + 3r) / n; here two means and the
  // place of the split were fitted as well).
  r += (2 + 4 * r) / static_cast<double>(scores.size());
  r = std::clamp(r, 0.0, kLargestCorrelation);
  return {squares / static_cast<double>(scores.size() - 2), (1 + r) / (1 - r)};
}

// P(max over the split points of |Z| >= z), Miller and Siegmund (1982), with the split restricted
// to [share, 1 - share] of the samples.
double MaximumPValue(double z, double share) {
  if (z < 1) return 1;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double range = std::log((1 - share) * (1 - share) / (share * share));
  return std::min(1.0, 4 * density / z + density * (z - 1 / z) * range);
}

double RelativeShift(double from, double to) {
  return to == 0 ? (from == 0 ? 0 : 1) : std::fabs(from - to) / std::fabs(to);
}

}  // namespace

ChangePoint FindChangePoint(std::span<const double> samples) {
  ChangePoint result;
  const size_t n = samples.size();
  if (n < 2 * kShortestSide + 1) return result;
  const std::vector<double> scores = Scores(samples);
  if (scores.empty()) return result;
  const auto size = static_cast<double>(n);
  const double mean = Mean(scores);
  double sum = 0;
  double best = -1;
  for (size_t t = 1; t + kShortestSide <= n; ++t) {
    sum += scores[t - 1] - mean;
    if (t < kShortestSide) continue;
    const auto before = static_cast<double>(t);
    const double distance = std::fabs(sum) / std::sqrt(before * (size - before) / size);
    if (distance > best) {
      best = distance;
      result.at = t;
    }
  }
  const WithinSides within = Within(scores, result.at);
  if (within.variance <= 0) {  // two levels without any noise
    result.p_value = best > 0 ? 0 : 1;
    return result;
  }
  result.p_value = MaximumPValue(best / std::sqrt(within.variance * within.inflation),
                                 static_cast<double>(kShortestSide) / size);
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
