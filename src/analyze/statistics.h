// Statistics of samples, each by one stated definition, each refused where the sample is too small.
//
// A percentile is type 7 of Hyndman and Fan: linear between the order statistics around
// (n - 1) * p, as numpy and R compute it by default; the median of an even count is the mean of the
// two in the middle. Intervals are at 95 % and at least that wide.
//
// The rule that people break: iterations of one process are not independent, so an interval over
// them is about this process's run only. What generalises is an interval over processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// Precondition of everything that takes `sorted`: ascending, finite.
std::vector<double> Sorted(std::span<const double> samples);

// Type 7. Precondition: not empty, 0 <= p <= 1.
double Quantile(std::span<const double> sorted, double p);

// 1 / (1 - p) rounded up: 2 for the median, 10 for p90, 100 for p99.
uint64_t SamplesNeeded(double p);

// Quantile, or too_few_samples with "needs N, has n".
profile::Metric<double> PercentileOf(std::span<const double> sorted, double p);

// Ranks (from 0) of the order statistics that enclose the p-quantile of the population with at
// least 95 %; `high` is empty when no sample of this size has an upper bound.
struct RankInterval {
  size_t low = 0;
  std::optional<size_t> high;
};
// Empty when there is not even a lower bound. The tails are equal (2.5 % each) where the sample is
// large enough for that; a smaller one gives the upper tail what it needs, at most 5 %, and the
// lower one the rest. So it is closed from n = 29, 59, 299 on for p90, p95, p99.
// Precondition: 0.5 <= p < 1.
std::optional<RankInterval> QuantileRanks(uint64_t n, double p);

// The samples at those ranks.
profile::Metric<profile::Interval> PercentileInterval(std::span<const double> sorted, double p);

double Mean(std::span<const double> samples);  // precondition: not empty
// With n - 1; too_few_samples below two.
profile::Metric<double> SampleStd(std::span<const double> samples);
// Student's t over the means of processes; too_few_samples below two.
profile::Metric<profile::Interval> MeanInterval(std::span<const double> process_means);

// The median of paired ratios and its interval by order statistics (the inverted sign test): no
// assumption on their distribution.
struct MedianRatio {
  profile::Metric<double> ratio;
  profile::Metric<profile::Interval> interval;
};
MedianRatio MedianOfRatios(std::span<const double> ratios);

}  // namespace inferprobe::analyze
