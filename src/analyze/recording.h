// From a recording that was read from a file to the figures that `perf` prints, as far as the file
// has the data. What it does not tell keeps a status.
#pragma once

#include "profile/recording.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// Gives runs to a recording that has none: each call of a whole method (ExecuTorch's
// Method::execute) that no other one encloses; none where the file marks its runs itself.
// Precondition: Profile::runs is empty.
void FindRuns(profile::Profile* profile);

profile::PerfResult AnalyzeRecording(const profile::Recording& recording);

}  // namespace inferprobe::analyze
