// When a mean is too short for its clock, in one place and in one sentence.
#pragma once

#include <fmt/format.h>

#include "base/text.h"
#include "profile/metric.h"

namespace inferprobe::analyze {

constexpr double kTicksToResolve = 10;

// Whether a call of this length says nothing. A negative own time is a finding, not noise.
inline bool IsBelow(double call_ns, double tick_ns) {
  return call_ns >= 0 && call_ns < kTicksToResolve * tick_ns;
}

inline profile::Missing BelowClock(double call_ns, double tick_ns) {
  return {
      profile::Status::kBelowResolution,
      fmt::format("a call takes {}: less than {:g} ticks of {}", base::FormatDurationNs(call_ns),
                  kTicksToResolve, base::FormatDurationNs(tick_ns))};
}

inline profile::Missing BelowUnit(double call_ns, double unit_ns) {
  return {profile::Status::kBelowResolution,
          fmt::format("a call takes {}: less than the {} that the engine counts in",
                      base::FormatDurationNs(call_ns), base::FormatDurationNs(unit_ns))};
}

}  // namespace inferprobe::analyze
