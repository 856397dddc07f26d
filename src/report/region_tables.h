// Which parallel loop leaves cores idle, and what runs on one thread.
//
// The rule that people break: idle core-time is called an upper bound wherever it is printed, and
// of what hides its threads there is a line, not a figure.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"
#include "report/table.h"

namespace inferprobe::report {

// Every row, with all figures; no rows where regions were not looked at.
Table RegionTable(const profile::PerfResult& result);

// The section for people; "" where regions were not asked for.
std::string RegionTables(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
