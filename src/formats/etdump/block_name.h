// What the name of a run's block says: "Execute", or "Execute (lost events: end_before_start)" of a
// run that is not whole, with the statistic that counts why. The name is free text, for Inspector
// too, and an ETDump has no other place for it.
//
// The rule that people break: a run that lost events must not come out of a file as a whole one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "profile/model.h"

namespace inferprobe::etdump {

std::string BlockNameOf(const profile::Run& run);

// What the runs of a block of this name lost events by; none: nothing that its name tells of. A
// statistic that this version does not know is kIncompleteRun. Looks at a few bytes of a long name.
std::optional<profile::Loss> LossInBlockName(std::string_view name);

}  // namespace inferprobe::etdump
