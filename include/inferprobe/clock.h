// The clock of every host-wall time: ticks that are cheap to read, and their meaning in
// CLOCK_MONOTONIC nanoseconds.
//
// While the kernel itself trusts the TSC (its clocksource is "tsc"), a tick is one TSC cycle,
// calibrated against CLOCK_MONOTONIC; elsewhere a tick is one nanosecond of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <string>

#include "inferprobe/api.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace inferprobe {

namespace internal {
// Set once, by the first call of Clock(); constant from then on.
INFERPROBE_API extern bool g_clock_is_tsc;
INFERPROBE_API uint64_t SystemClockNs() noexcept;  // CLOCK_MONOTONIC
}  // namespace internal

// A reading in ticks, of use after the first call of Clock() (a recorder's start makes it). About
// 9 ns with the TSC, 20 ns without.
inline uint64_t NowTicks() {
#if defined(__x86_64__)
  if (internal::g_clock_is_tsc) [[likely]] {
    return __rdtsc();
  }
#endif
  return internal::SystemClockNs();
}

// How ticks become nanoseconds.
struct ClockCalibration {
  bool tsc = false;
  uint64_t anchor_ticks = 0;
  int64_t anchor_ns = 0;  // CLOCK_MONOTONIC at anchor_ticks
  double ns_per_tick = 1;
  double error_ppm = 0;  // bound of the error of ns_per_tick, from the width of the readings
  int64_t realtime_minus_monotonic_ns = 0;
  int64_t boottime_minus_monotonic_ns = 0;

  [[nodiscard]] int64_t ToNs(uint64_t ticks) const {
    const auto delta = static_cast<int64_t>(ticks - anchor_ticks);
    return anchor_ns + static_cast<int64_t>(static_cast<double>(delta) * ns_per_tick +
                                            (delta < 0 ? -0.5 : 0.5));
  }
};

// Decides for the TSC or against it, and calibrates. With the TSC the first call waits until 20 ms
// have passed since the library was loaded; later calls return what it found.
INFERPROBE_API const ClockCalibration& Clock();
// Why the TSC is not used; empty when it is.
INFERPROBE_API std::string WhyNotTsc();

}  // namespace inferprobe
