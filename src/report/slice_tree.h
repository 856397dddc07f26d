// The rows of a recording without runs: a tree for people, track by track, and a table for
// machines.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"
#include "report/table.h"

namespace inferprobe::report {

Table SliceTable(const profile::PerfResult& result);
// "" where there are no rows. Small ones are folded unless `options.all_rows`.
std::string SliceTree(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
