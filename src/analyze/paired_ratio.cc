#include "analyze/paired_ratio.h"

#include <fmt/format.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "analyze/statistics.h"

namespace inferprobe::analyze {

using profile::Status;

PairedRatio RatioOfPairs(std::span<const double> base, std::span<const double> other,
                         double confidence) {
  PairedRatio result;
  const size_t n = base.size();
  if (n == 0) {
    const profile::Missing none{Status::kNotMeasured, "no pair"};
    return {none, none};
  }
  std::vector<double> logs(n);
  for (size_t i = 0; i < n; ++i) logs[i] = std::log(other[i] / base[i]);
  const double mean = Mean(logs);
  result.ratio = std::exp(mean);
  if (n < 2) {
    result.interval = {Status::kTooFewSamples, fmt::format("needs 2 pairs, has {}", n)};
    return result;
  }
  const boost::math::students_t t(static_cast<double>(n - 1));
  const double half = boost::math::quantile(t, (1 + confidence) / 2) * *SampleStd(logs) /
                      std::sqrt(static_cast<double>(n));
  result.interval = profile::Interval{std::exp(mean - half), std::exp(mean + half), false};
  return result;
}

}  // namespace inferprobe::analyze
