// Parallel regions of the profiled runs: rows, what each operator made of the threads that it could
// have had, and the run as a whole. Formulas: docs/measure/parallel.md.
//
// The rule that people break: about what hides its threads nothing is claimed. A delegate that is
// not observable is no serial time, and its time is in no efficiency.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/disturbance.h"
#include "profile/facts.h"
#include "profile/model.h"
#include "profile/region_report.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct RegionOptions {
  std::string detail{};  // as it was asked for; "": as the regions themselves tell
  std::span<const profile::CoreType> core_types{};
};

// `result`: its rows, delegates, model and engine are filled in, from the same profile. A status
// where no run is whole, and where there is neither a region nor `detail`.
profile::Metric<profile::RegionReport> AnalyzeRegions(const profile::Profile& profile,
                                                      const profile::PerfResult& result,
                                                      const RegionOptions& options);

// Why the threads inside a delegate are not seen; "": they are.
std::string WhyNotObservable(std::string_view backend);

// CPU time of the process for one inference without profiling, from blocks of such runs.
profile::Metric<double> ProcessCpuNs(const profile::Profile& profile,
                                     std::span<const profile::BlockReading> blocks);

}  // namespace inferprobe::analyze
