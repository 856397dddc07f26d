#include "inferprobe/clock.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "base/system_clock.h"
#include "record/clock_calibration.h"

#if !defined(_WIN32)
#include "base/files.h"
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace inferprobe {
namespace record {
namespace {

constexpr int64_t kMinBaselineNs = 20'000'000;

#if defined(__x86_64__)
uint64_t OrderedTicks() {
  _mm_lfence();
  const uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

// The narrowest of several readings of the system clock between two of the TSC: an interrupt or a
// lost CPU makes one wide.
ClockAnchor ReadAnchor() {
  ClockAnchor best;
  best.width_ticks = UINT64_MAX;
  for (int i = 0; i < 32; ++i) {
    const uint64_t before = OrderedTicks();
    const int64_t ns = base::MonotonicNs();
    const uint64_t after = OrderedTicks();
    if (after - before < best.width_ticks) {
      best = {before + (after - before) / 2, ns, after - before};
    }
  }
  return best;
}

// Read when the library is loaded: most programs are older than the baseline by the time that they
// ask, and need not wait. About 2 us.
const ClockAnchor kAtLoad = ReadAnchor();
#endif

ClockCalibration ReadClock() {
  ClockCalibration clock;
#if defined(__x86_64__)
  if (WhyNotTsc().empty()) {
    const int64_t age_ns = base::MonotonicNs() - kAtLoad.ns;
    if (age_ns < kMinBaselineNs) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kMinBaselineNs - age_ns));
    }
    clock = Calibrate(kAtLoad, ReadAnchor());
    clock.tsc = true;
  }
#endif
  // These two move with the system's time; the middle of a bracket is good to 50 ns.
  const int64_t before = base::MonotonicNs();
  const int64_t realtime = base::RealtimeNs();
  const int64_t boottime = base::BoottimeNs();
  const int64_t middle = before + (base::MonotonicNs() - before) / 2;
  clock.realtime_minus_monotonic_ns = realtime - middle;
  // Equal until the machine was suspended: what is left then is only the width of the reading.
  clock.boottime_minus_monotonic_ns = boottime - middle < 10'000 ? 0 : boottime - middle;
  internal::g_clock_is_tsc = clock.tsc;
  return clock;
}

}  // namespace

bool CpuSaysInvariantTsc() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

#if !defined(_WIN32)
constexpr const char* kClocksource =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

std::string TscRefusal(const std::string& sys_root, bool cpu_says_invariant) {
#if !defined(__x86_64__)
  return "this CPU has no TSC";
#endif
  if (!cpu_says_invariant) {
    return "the CPU does not promise that its TSC runs at one rate (CPUID 80000007h, EDX bit 8)";
  }
  Result<std::string> source = base::ReadFile(sys_root + kClocksource, 4096);
  if (!source) return "the kernel does not tell its clocksource: " + source.error().message;
  while (!source->empty() && source->back() == '\n') source->pop_back();
  if (*source != "tsc") return "the kernel's clocksource is \"" + *source + "\", not \"tsc\"";
  return {};
}
#endif

ClockCalibration Calibrate(const ClockAnchor& first, const ClockAnchor& later) {
  ClockCalibration clock;
  const auto ticks = static_cast<double>(later.ticks - first.ticks);
  clock.anchor_ticks = later.ticks;
  clock.anchor_ns = later.ns;
  clock.ns_per_tick = static_cast<double>(later.ns - first.ns) / ticks;
  clock.error_ppm = 1e6 * static_cast<double>(first.width_ticks + later.width_ticks) / 2 / ticks;
  return clock;
}

}  // namespace record

namespace internal {
bool g_clock_is_tsc = false;
uint64_t SystemClockNs() noexcept { return static_cast<uint64_t>(base::MonotonicNs()); }
}  // namespace internal

const ClockCalibration& Clock() {
  static const ClockCalibration clock = record::ReadClock();
  return clock;
}

std::string WhyNotTsc() {
#if defined(_WIN32)
  return "Windows does not tell whether it trusts the TSC";
#else
  return record::TscRefusal("", record::CpuSaysInvariantTsc());
#endif
}

}  // namespace inferprobe
