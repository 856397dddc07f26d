// The layers of a file that has sums of calls, and not the calls: see profile/sum_note.h.
//
// The rule that people break: a share is of the sums of the same track, and of nothing else; and
// rows may contain each other. Where a delegate's whole call (PREFIX.delegate) is among them, its
// phases (PREFIX.…) have shares of that, and it has none. They are no part of any run.
#pragma once

#include <vector>

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// In the file's order; names that are alike stay rows of their own. Linear.
std::vector<profile::SumRow> SummarizeSums(const profile::Profile& profile);

}  // namespace inferprobe::analyze
