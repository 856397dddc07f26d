#include "inferprobe/clock.h"

#include "base/system_clock.h"

namespace inferprobe {
namespace internal {
bool g_clock_is_tsc = false;
uint64_t SystemClockNs() { return static_cast<uint64_t>(base::MonotonicNs()); }
}  // namespace internal

const ClockCalibration& Clock() {
  static const ClockCalibration clock;
  return clock;
}
std::string WhyNotTsc() { return "not yet"; }

}  // namespace inferprobe
