// The ticks of a delegate's own clock, made into times by what the user knows of it.
//
// The rule that people break: this changes lengths. Where in its call an operator ran is still not
// known; the first of a call is put at the call's start.
#pragma once

#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::profile {

// Applies each clock to the tracks of the delegates of that name: "XnnpackBackend" means all of
// them, "XnnpackBackend #1" or "DELEGATE_CALL@3" the one. A name that fits none is an error that
// lists those there are.
Result<void> ApplyDelegateClocks(const std::vector<DelegateClock>& clocks, Recording* recording);

}  // namespace inferprobe::profile
