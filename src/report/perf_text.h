// What `perf` prints.
//
// The rule that people break: each block's heading names the kind of its figures, and figures of
// two kinds never share a column.
#pragma once

#include <cstddef>
#include <string>

#include "profile/result.h"
#include "report/table.h"

namespace inferprobe::report {

struct PerfTextOptions {
  bool all_rows = false;      // nothing is folded
  bool only_regions = false;  // of everything only the parallel regions
  bool color = false;         // warnings and marks in colour
  size_t width = 100;         // columns of the terminal
  std::string counters = {};  // of a recording: what CounterTable gives, before the losses
};

// Everything, for people.
std::string PerfText(const profile::PerfResult& result, const PerfTextOptions& options);

// kTable: PerfText. Otherwise all rows of "where the time goes", for machines or documents.
std::string PerfReport(const profile::PerfResult& result, Format format,
                       const PerfTextOptions& options);

}  // namespace inferprobe::report
