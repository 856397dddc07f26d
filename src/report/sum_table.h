// The layers of a file that has sums of calls: a table for each track for people, and one for
// machines.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"
#include "report/table.h"

namespace inferprobe::report {

Table SumTable(const profile::PerfResult& result);
// "" where there are none. Only the largest of a track unless `options.all_rows`.
std::string SumTables(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
