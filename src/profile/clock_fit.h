// The time of another clock as CLOCK_MONOTONIC ns, from events whose time both clocks say.
//
// The rule that people break: a fit is only as good as its doubt. `error_ns` says how far a
// converted time between the first pair and the last may be off, and what is nearer to a border
// than that is not known to be on either side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace inferprobe::profile {

// The other clock, which counts ns too, said `other_ns` between these two of ours.
struct ClockPair {
  int64_t before_ns = 0;
  int64_t after_ns = 0;
  int64_t other_ns = 0;
};

class ClockFit {
 public:
  // Without a drift if the pairs allow that, so that durations stay as they were said; else in the
  // middle of what they allow. A wide pair, whose thread had to wait, allows more and moves
  // nothing. nullopt: there is no pair, or no line that all of them allow.
  static std::optional<ClockFit> Through(std::span<const ClockPair> pairs);

  [[nodiscard]] int64_t ToNs(int64_t other_ns) const;  // monotone
  [[nodiscard]] double error_ns() const { return error_ns_; }

 private:
  int64_t anchor_other_ns_ = 0;
  int64_t anchor_ns_ = 0;
  int64_t drift_ = 0;  // rate - 1, in units of 2^-60: monotone to the nanosecond over any time
  double error_ns_ = 0;
};

}  // namespace inferprobe::profile
