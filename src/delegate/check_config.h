// What a setting must be, wherever it comes from: an option, a compile spec, the process-wide
// switch.
#pragma once

#include <string>
#include <string_view>

#include "inferprobe/config.h"

namespace inferprobe::delegate {

// Whether the settings fit each other and the place: a format that writes files has its folder.
Result<void> CheckConfig(std::string_view prefix, const ProfileConfig& config,
                         const ProfilePlace& place);

// A folder that exists and may be written to. `key` names the setting in errors.
Result<void> CheckFolder(const std::string& key, std::string_view folder);

// The program may change its folder before the files are written.
std::string AbsoluteFolder(std::string_view folder);

}  // namespace inferprobe::delegate
