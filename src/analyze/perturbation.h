// What profiling costs: runs with it against runs without, interleaved, with an A-against-A beside.
//
// The rule that people break: the runs are paired. Off, off again (null) and on stand next to each
// other in time, in any order, and only ratios within such a group count; a comparison of two loops
// one after the other would show the machine's drift.
#pragma once

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// From the runs of modes kPairOff, kPairNull, kPairOn. A group is what follows each other in one
// process with the same Run::group; the same number again later is another group. One that lacks
// its off or on run (lost, a crash, the end of the loop) is left out, as are runs of no group.
profile::Perturbation AnalyzePerturbation(const profile::Profile& profile);

}  // namespace inferprobe::analyze
