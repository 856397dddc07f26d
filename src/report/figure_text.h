// Figures as people read them.
//
// The rule that people break: one block of times has one unit and one number of digits, chosen by
// its typical value; otherwise 0.9 ms stands under 1,100 us.
#pragma once

#include <string>
#include <vector>

#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::report {

std::string MissingText(profile::Status status);           // "n/a (below resolution)"
std::string MissingText(const profile::Missing& missing);  // with the hint, if there is one

// A unit for times, in which `typical_ns` has four digits.
class TimeUnit {
 public:
  explicit TimeUnit(double typical_ns);
  [[nodiscard]] std::string Value(double ns) const;  // "0.1951"
  [[nodiscard]] std::string Text(double ns) const;   // "0.1951 ms"
  [[nodiscard]] const char* name() const { return name_; }

 private:
  double ns_ = 1;
  const char* name_ = "ns";
  int decimals_ = 0;
};

// "[0.194, 0.196]"; "[0.194, …" where it is open above.
std::string IntervalText(const profile::Metric<profile::Interval>& interval_ms,
                         const TimeUnit& unit);

// A line about means that were computed from an engine's running mean since it compiled the model.
std::string RunningMeanText(const profile::Metric<double>& error_ns);

// "+3.1 %" of 1.031.
std::string ChangeText(double ratio);

struct Bars {
  std::string text;  // "": all samples are equal, or there is none
  double low = 0;
  double high = 0;    // where the bars end
  size_t beyond = 0;  // samples above `high`, up to `max`
  double max = 0;
};

// Counts of `samples` in `bins` equal parts, as bars of eight heights; a part that holds one sample
// still has the lowest bar. The bars span the whole range, or end at p99 where they would be
// squeezed into their first half.
Bars Histogram(const std::vector<std::vector<double>>& samples, size_t bins);

}  // namespace inferprobe::report
