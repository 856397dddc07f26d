// The system's clocks, in nanoseconds.
#pragma once

#include <cstdint>

namespace inferprobe::base {

int64_t MonotonicNs();
int64_t RealtimeNs();
int64_t BoottimeNs();  // counts suspended time too
int64_t MonotonicResolutionNs();

}  // namespace inferprobe::base
