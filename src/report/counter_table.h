// The counters of a recording, one row a track: `show` has them behind the slices.
//
// The rule that people break: the mean is of the samples, not over time. Nobody knows what a
// counter was between two of them.
#pragma once

#include <cstddef>
#include <string>

#include "profile/model.h"

namespace inferprobe::report {

constexpr size_t kMostCounters = 20;

// "" if there is none. More than kMostCounters are folded unless `all`.
std::string CounterTable(const profile::Profile& profile, bool all);

}  // namespace inferprobe::report
