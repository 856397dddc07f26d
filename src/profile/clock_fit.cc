#include "profile/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "profile/model.h"

namespace inferprobe::profile {
namespace {

// Two clocks of one machine drift apart by 0.05 % at most (NTP's limit). What a profiler made of
// its own on a short recording may be worse.
constexpr double kMostDrift = 0.1;
constexpr int kDriftBits = 60;
// Both clocks' times are whole nanoseconds.
constexpr double kRoundingNs = 0.5;
constexpr int kSteps = 100;  // of a search that halves: beyond what a double resolves

// A pair, as differences to the first one: at `other` our clock was ahead by `low` to `high`.
struct Window {
  double other = 0;
  double low = 0;
  double high = 0;
};

// How far ahead our clock may be, at one time, on a line that all windows allow.
struct Gap {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  [[nodiscard]] double width() const { return high - low; }  // negative: there is no such line
};

// Of lines of this drift, at the other clock's `at`.
Gap GapOf(const std::vector<Window>& windows, double drift, double at = 0) {
  Gap gap;
  for (const Window& window : windows) {
    const double drifted = (window.other - at) * drift;
    gap.low = std::max(gap.low, window.low - drifted);
    gap.high = std::min(gap.high, window.high - drifted);
  }
  return gap;
}

// The gap's width is concave in the drift.
double WidestDrift(const std::vector<Window>& windows) {
  double from = -kMostDrift;
  double to = kMostDrift;
  for (int i = 0; i < 2 * kSteps; ++i) {
    const double third = (to - from) / 3;
    if (GapOf(windows, from + third).width() < GapOf(windows, to - third).width()) {
      from += third;
    } else {
      to -= third;
    }
  }
  return from + (to - from) / 2;
}

// The last allowed drift on the way from an allowed one.
double LastAllowed(const std::vector<Window>& windows, double allowed, double end) {
  if (GapOf(windows, end).width() >= 0) return end;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = allowed + (end - allowed) / 2;
    (GapOf(windows, middle).width() >= 0 ? allowed : end) = middle;
  }
  return allowed;
}

bool IsTime(int64_t ns) { return ns >= -kLatestNs && ns <= kLatestNs; }

}  // namespace

std::optional<ClockFit> ClockFit::Through(std::span<const ClockPair> pairs) {
  if (pairs.empty()) return std::nullopt;
  ClockFit fit;
  fit.anchor_other_ns_ = pairs.front().other_ns;
  fit.anchor_ns_ = pairs.front().before_ns;
  std::vector<Window> windows;
  windows.reserve(pairs.size());
  double first = 0;
  double last = 0;
  for (const ClockPair& pair : pairs) {
    if (!IsTime(pair.before_ns) || !IsTime(pair.after_ns) || !IsTime(pair.other_ns)) {
      return std::nullopt;
    }
    const auto other = static_cast<double>(pair.other_ns - fit.anchor_other_ns_);
    const auto low = static_cast<double>(pair.before_ns - fit.anchor_ns_) - other - kRoundingNs;
    const auto high = static_cast<double>(pair.after_ns - fit.anchor_ns_) - other + kRoundingNs;
    windows.push_back({other, low, high});
    if (pair.after_ns < pair.before_ns) return std::nullopt;
    first = std::min(first, other);
    last = std::max(last, other);
  }
  double least = 0;
  double most = 0;
  if (last > first) {  // else nothing tells of a drift
    const double allowed = WidestDrift(windows);
    if (GapOf(windows, allowed).width() < 0) return std::nullopt;
    least = LastAllowed(windows, allowed, -kMostDrift);
    most = LastAllowed(windows, allowed, kMostDrift);
  }
  // None where that is allowed: over a short time nothing but the pairs' widths tells of one, and a
  // duration stays as it was said.
  const double drift = least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
  const Gap gap = GapOf(windows, drift);
  if (gap.width() < 0) return std::nullopt;
  const double offset = gap.low + gap.width() / 2;
  fit.anchor_ns_ += std::llround(offset);
  fit.drift_ = std::llround(std::ldexp(drift, kDriftBits));

  // What else the pairs allow is furthest from the line at an end: there the highest line is the
  // flattest one at the start, and the steepest at the end; the lowest the other way round.
  const double at_first = offset + first * drift;
  const double at_last = offset + last * drift;
  fit.error_ns_ = std::max(
      {GapOf(windows, least, first).high - at_first, at_first - GapOf(windows, most, first).low,
       GapOf(windows, most, last).high - at_last, at_last - GapOf(windows, least, last).low});
  return fit;
}

int64_t ClockFit::ToNs(int64_t other_ns) const {
  __extension__ using Wide = __int128;
  const Wide since = Wide{other_ns} - anchor_other_ns_;
  const Wide ns = since + ((since * drift_) >> kDriftBits) + anchor_ns_;
  return static_cast<int64_t>(std::clamp<Wide>(ns, std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max()));
}

}  // namespace inferprobe::profile
