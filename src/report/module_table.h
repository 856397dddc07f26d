// The table of a PyTorch model's modules: a tree for people, all rows as a table for machines.
//
//   print(prof)  ->  ModuleText(result, {})
//
// The rule that people break: what was not recorded has no column. A column of zeros, or of n/a,
// would say that somebody looked.
#pragma once

#include <string>

#include "profile/result.h"
#include "report/table.h"

namespace inferprobe::report {

struct ModuleTextOptions {
  bool show_events = false;  // the operators of each module under it
  bool fold = false;         // small modules, and those that were not called, are one line
};

// Each module, row by row, with all figures that were recorded.
Table ModuleTable(const profile::PerfResult& result);

// The tree, and below it what is in no module and what was not seen. Where there are no modules,
// a line that says why.
std::string ModuleText(const profile::PerfResult& result, const ModuleTextOptions& options);

}  // namespace inferprobe::report
