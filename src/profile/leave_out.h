// Takes slices out of a profile after it was read: those whose times turned out to be none.
//
// The rule that people break: slices are named by their place. All that names one (parents, runs,
// allocations) moves along, and a run that lost a slice is not whole.
#pragma once

#include <vector>

#include "profile/loss.h"
#include "profile/model.h"

namespace inferprobe::profile {

// `which`: one for each slice. What was inside a slice that goes is then inside what encloses that.
// Counted as `why`.
void LeaveOut(const std::vector<bool>& which, Loss why, Profile* profile);

}  // namespace inferprobe::profile
