// What the parallel regions of a run add up to: the first lines about them, for people.
//
// The rule that people break: what was idle in regions and what was idle in the run are two
// figures, and each line says of how much of the run it speaks.
#pragma once

#include <string>

#include "profile/result.h"

namespace inferprobe::report {

// `result.regions` is there.
std::string RegionSummary(const profile::PerfResult& result);

}  // namespace inferprobe::report
