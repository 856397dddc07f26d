// Which parallel loop leaves cores idle, and what runs on one thread: the section for people.
//
// The rule that people break: idle core-time is called an upper bound wherever it is printed, and
// of what hides its threads there is a line, not a figure.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"

namespace inferprobe::report {

// "" where regions were not asked for.
std::string RegionTables(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
