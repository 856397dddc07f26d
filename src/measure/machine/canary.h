// A fixed amount of work whose time tells the clock frequency where sysfs does not.
#pragma once

#include <cstdint>

namespace inferprobe::measure {

// Runs three equal chains of dependent additions (together about 100 us at 3 GHz) and returns the
// fastest's time in ns: one cycle per addition, in registers, so that neither caches nor an
// interruption count.
int64_t CanaryNs();

}  // namespace inferprobe::measure
