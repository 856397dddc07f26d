// The rows of parallel regions: one for each place in the program, over all counted runs.
//
// The rule that people break: a mean is over all times that the region ran. A rank that took part
// in half of them counts with zero in the other half, so that the ranks add up to what was busy.
#pragma once

#include <span>
#include <vector>

#include "analyze/run_regions.h"
#include "profile/facts.h"
#include "profile/region_report.h"

namespace inferprobe::analyze {

// Worst first: idle core time, then serial time, then their order in the program.
std::vector<profile::RegionRow> RegionRows(const profile::Profile& profile,
                                           const RunRegions& regions,
                                           std::span<const profile::CoreType> core_types);

// Of the wall time of one call, when fewer than two were busy; why it is not known otherwise.
profile::Metric<double> SerialNs(const RunRegions& regions, const FoundRegion& region);

// Sum of its participants' busy time; why it is not known.
profile::Metric<double> BusyNs(const RunRegions& regions, const FoundRegion& region);

// The value, or that no file may hold it (profile::kLargestFigure).
profile::Metric<double> Bounded(double value);

}  // namespace inferprobe::analyze
