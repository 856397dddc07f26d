// Every slice of a recording, for people who want the raw thing: `show --events`.
//
// The rule that people break: there may be millions. They are written piece by piece; no table of
// all of them is ever in memory.
#pragma once

#include <functional>
#include <string_view>

#include "inferprobe/result.h"
#include "profile/model.h"
#include "report/table.h"

namespace inferprobe::report {

// In order of their starts. Slices in ticks of an unknown clock have start_ticks and dur_ticks, and
// stand at the start of what encloses them.
Result<void> WriteEvents(const profile::Profile& profile, Format format,
                         const std::function<Result<void>(std::string_view)>& write);

}  // namespace inferprobe::report
