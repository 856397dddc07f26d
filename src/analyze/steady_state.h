// Where warm-up ends, found in the samples instead of assumed.
//
// The place is the change point that best separates slower (or faster) samples before it from those
// after it: the largest standardised difference of means over all split points, with the p-value of
// Miller and Siegmund (1982) for that maximum. Samples are scored by their distance from the median
// and cut off, so that single outliers are harmless; the lag-1 correlation of the samples widens
// the test, as iterations of a process are not independent. The search repeats behind each change
// point, so that a slow start in several steps is cut whole.
//
// The rule that people break: a change that is significant but under 1 % is left alone. With enough
// samples everything is significant.
#pragma once

#include <cstddef>
#include <span>

namespace inferprobe::analyze {

struct SteadyState {
  bool decided = false;  // false: fewer than kSteadyStateSamples, nothing was tested
  bool steady = true;    // false: it still changes in the second half
  size_t start = 0;      // first sample of the steady part; at most half of them are cut
  double p_value = 1;    // of the first change point that was tested
};

constexpr size_t kSteadyStateSamples = 20;

// `samples` in the order of time, of one process.
SteadyState FindSteadyState(std::span<const double> samples);

// The test itself: the most likely change point (the first sample behind it) and its p-value.
struct ChangePoint {
  size_t at = 0;
  double p_value = 1;
};
ChangePoint FindChangePoint(std::span<const double> samples);

}  // namespace inferprobe::analyze
