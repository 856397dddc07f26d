// The names of tracks of what a delegate or its engine told: the delegate's name, and, in brackets,
// what kind of time that is.
//
// The rule that people break: the brackets are for people. What a track's times are, its kind says.
#pragma once

#include <string>
#include <string_view>

#include "profile/metric.h"

namespace inferprobe::profile {

// "DELEGATE_CALL@3" of "DELEGATE_CALL@3 (engine-reported, ...)" or "... (device, ...)".
std::string_view DelegateOfTrack(std::string_view track_name);

// "DELEGATE_CALL@3 (device, cuda event)"; `detail` may be "".
std::string NameOfEngineTrack(std::string_view delegate, Kind kind, std::string_view detail);

// A clock's name as a track's name has it: cut, as it comes from a file.
std::string ShortClockName(std::string_view clock);

}  // namespace inferprobe::profile
