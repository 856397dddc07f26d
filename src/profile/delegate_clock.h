// The ticks of a delegate's own clock, made into times by what the user knows of it.
//
// The rule that people break: this changes lengths. Where in its call an operator ran is still not
// known; the first of a call is put at the call's start. A length that no clock holds is none: the
// slice is left out (time_out_of_range), never made shorter.
#pragma once

#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::profile {

// The clock that the user gave for the delegate whose track has this name; nullptr: none.
const DelegateClock* FindDelegateClock(const std::vector<DelegateClock>& clocks,
                                       std::string_view track_name);

// Applies each clock to the tracks of the delegates of that name: "XnnpackBackend" means all of
// them, "XnnpackBackend #1" or "DELEGATE_CALL@3" the one. A name that fits none is an error that
// lists those there are.
Result<void> ApplyDelegateClocks(const std::vector<DelegateClock>& clocks, Recording* recording);

}  // namespace inferprobe::profile
