// How much longer one thing takes than another, from pairs that were measured beside each other.
//
// The rule that people break: the pairs must be independent. Iterations of one process are not;
// processes, paired in random order, are.
#pragma once

#include <span>

#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// The geometric mean of other[i] / base[i], with Student's t over the logarithms.
struct PairedRatio {
  profile::Metric<double> ratio;
  profile::Metric<profile::Interval> interval;  // from two pairs on
};
// Precondition: as many of the one as of the other, all above 0; 0 < confidence < 1.
PairedRatio RatioOfPairs(std::span<const double> base, std::span<const double> other,
                         double confidence);

}  // namespace inferprobe::analyze
