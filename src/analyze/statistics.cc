#include "analyze/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace inferprobe::analyze {
namespace {

using profile::Interval;
using profile::Metric;
using profile::Status;

constexpr double kAlpha = 0.05;

Metric<double> TooFew(uint64_t needs, uint64_t has) {
  return {Status::kTooFewSamples, fmt::format("needs {}, has {}", needs, has)};
}

// P(B <= k) of B ~ Binomial(n, p); 0 below the support.
double BinomialCdf(uint64_t n, double p, int64_t k) {
  if (k < 0) return 0;
  if (static_cast<uint64_t>(k) >= n) return 1;
  return boost::math::cdf(boost::math::binomial(static_cast<double>(n), p), static_cast<double>(k));
}

double BinomialTail(uint64_t n, double p, int64_t k) {  // P(B > k), exact for small tails
  if (k < 0) return 1;
  if (static_cast<uint64_t>(k) >= n) return 0;
  return boost::math::cdf(boost::math::complement(boost::math::binomial(static_cast<double>(n), p),
                                                  static_cast<double>(k)));
}

// Largest rank from 0 whose order statistic lies above the quantile with at most `tail`; -1: none.
// X(l) > q exactly when at most l samples are below q (ranks from 0).
int64_t LowRank(uint64_t n, double p, double tail) {
  int64_t low = -1;
  int64_t high = static_cast<int64_t>(n);  // P(B <= n) = 1 is above every tail
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (BinomialCdf(n, p, middle) <= tail ? low : high) = middle;
  }
  return low;
}

// Smallest rank from 0 whose order statistic lies below the quantile with at most `tail`; n: none.
// X(u) < q exactly when more than u samples are below q.
int64_t HighRank(uint64_t n, double p, double tail) {
  int64_t low = -1;
  int64_t high = static_cast<int64_t>(n);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (BinomialTail(n, p, middle) <= tail ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::vector<double> Sorted(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double Quantile(std::span<const double> sorted, double p) {
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = std::min(static_cast<size_t>(position), sorted.size() - 1);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

uint64_t SamplesNeeded(double p) {
  // 1 / (1 - 0.9) is 10.000000000000002 in doubles.
  return static_cast<uint64_t>(std::ceil(1 / (1 - p) - 1e-6));
}

Metric<double> PercentileOf(std::span<const double> sorted, double p) {
  const uint64_t needs = SamplesNeeded(p);
  if (sorted.size() < needs) return TooFew(needs, sorted.size());
  return Quantile(sorted, p);
}

std::optional<RankInterval> QuantileRanks(uint64_t n, double p) {
  if (n == 0) return std::nullopt;
  const auto last = static_cast<int64_t>(n) - 1;
  int64_t high = HighRank(n, p, kAlpha / 2);
  double spent = kAlpha / 2;
  if (high > last) {
    const double at_last = BinomialTail(n, p, last);  // all n samples below: p^n
    if (at_last <= kAlpha) {
      high = last;
      spent = at_last;
    }
  }
  if (high <= last) {
    if (const int64_t low = LowRank(n, p, kAlpha - spent); low >= 0) {
      return RankInterval{static_cast<size_t>(low), static_cast<size_t>(high)};
    }
  }
  const int64_t low = LowRank(n, p, kAlpha);
  if (low < 0) return std::nullopt;
  return RankInterval{static_cast<size_t>(low), std::nullopt};
}

Metric<Interval> PercentileInterval(std::span<const double> sorted, double p) {
  const auto ranks = QuantileRanks(sorted.size(), p);
  if (!ranks) {
    uint64_t needs = sorted.size() + 1;
    while (!QuantileRanks(needs, p)) ++needs;  // 5 for the median, less above it
    return TooFew(needs, sorted.size()).missing();
  }
  Interval interval;
  interval.low = sorted[ranks->low];
  interval.open_above = !ranks->high.has_value();
  interval.high = sorted[ranks->high.value_or(sorted.size() - 1)];
  return interval;
}

double Mean(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

Metric<double> SampleStd(std::span<const double> samples) {
  if (samples.size() < 2) return TooFew(2, samples.size());
  const double mean = Mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

Metric<Interval> MeanInterval(std::span<const double> process_means) {
  const size_t n = process_means.size();
  if (n < 2) {
    return {Status::kTooFewSamples, fmt::format("needs 2 processes (--processes), has {}", n)};
  }
  const boost::math::students_t t(static_cast<double>(n - 1));
  const double half = boost::math::quantile(t, 1 - kAlpha / 2) * *SampleStd(process_means) /
                      std::sqrt(static_cast<double>(n));
  const double mean = Mean(process_means);
  return Interval{mean - half, mean + half, false};
}

MedianRatio MedianOfRatios(std::span<const double> ratios) {
  const std::vector<double> sorted = Sorted(ratios);
  MedianRatio result;
  result.ratio = PercentileOf(sorted, 0.5);
  result.interval = PercentileInterval(sorted, 0.5);
  return result;
}

}  // namespace inferprobe::analyze
