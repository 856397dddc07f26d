// The arithmetic and the decisions behind inferprobe/clock.h, apart from the machine that they are
// about, so that tests can bring their own.
#pragma once

#include <cstdint>
#include <string>

#include "inferprobe/clock.h"

namespace inferprobe::record {

// Why the TSC is not to be used; "" if it is. `sys_root` is "" or a folder that holds a /sys.
// The kernel watches the TSC and leaves it when cores disagree: its own choice is the evidence.
INFERPROBE_API std::string TscRefusal(const std::string& sys_root, bool cpu_says_invariant);
bool CpuSaysInvariantTsc();

// The same moment on both clocks, known to within half of `width_ticks`.
struct ClockAnchor {
  uint64_t ticks = 0;
  int64_t ns = 0;
  uint64_t width_ticks = 0;
};

// Fills the anchor, ns_per_tick and error_ppm. Precondition: `later` is later in ticks and ns.
INFERPROBE_API ClockCalibration Calibrate(const ClockAnchor& first, const ClockAnchor& later);

}  // namespace inferprobe::record
