// What is inside delegates, and between them.
//
// The rule that people break: each table's heading names the kind of its times, and a device's time
// has a column of its own: it is part of no call.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"

namespace inferprobe::report {

// The run's host wall time, split at the borders of delegates; "" where there is none.
std::string DelegateSummaryTable(const profile::PerfResult& result);

// Of each delegate call its host phases, and the operators inside it as the engine reported them.
std::string DelegateTables(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
