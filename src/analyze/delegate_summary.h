// The run's host wall time, split at the borders of delegates.
//
// The rule that people break: each nanosecond of the run is in one part. A call that lies in
// another call, or in a kernel, is a part of that.
#pragma once

#include <optional>

#include "analyze/operators.h"

namespace inferprobe::analyze {

// nullopt: the rows have no delegate call. `whole`: false where events of all runs were dropped.
std::optional<profile::DelegateSummary> SummarizeDelegates(const OperatorTable& table, bool whole);

}  // namespace inferprobe::analyze
