// "Where the time goes": the rows as a tree for people, all of them as a table for machines.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/perf_text.h"
#include "report/table.h"

namespace inferprobe::report {

// Every row of `ops` and of the delegates, in program order, with all figures.
Table OpTable(const profile::PerfResult& result);

// The tree. Small rows are folded unless `options.all_rows`; between instructions and unattributed
// never are.
std::string OpTree(const profile::PerfResult& result, const PerfTextOptions& options);

}  // namespace inferprobe::report
