// Parallel regions for machines and documents: a row for each, with all figures.
//
// The rule that people break: a row is understood alone. Who reads it does not have the result, so
// its operator has a name there, not an id alone.
#pragma once

#include "profile/result.h"
#include "report/table.h"

namespace inferprobe::report {

// No rows where regions were not looked at.
Table RegionTable(const profile::PerfResult& result);

}  // namespace inferprobe::report
