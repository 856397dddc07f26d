// "Where the time goes": the rows of the profiled runs, in program order, as a tree.
//
// The root is the method with the run's whole time. Its children are the handing over of inputs,
// the operator and delegate calls, the user's scopes, and two rows for the rest: "between
// instructions" (inside the engine's method, in no instruction) and "unattributed" (in the run, in
// nothing else). In int64 nanoseconds, summed over the runs:
//
//   root.total = sum of the root's host-wall children
//   row.total  = row.self + sum of the row's host-wall children
//
// The rule that people break: what an engine reported about its own inside is a child of the
// delegate call and of another kind. It is not part of these sums; it has a coverage instead. Rows
// without a parent other than the first lie around the runs or on other threads: not in the sums
// either. Rows of a clock whose tick is not known have ticks, and no times at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct OperatorOptions {
  std::string root_name{};  // "": the model's method
  // Calibrated cost of recording one event, for OpRow::probe_cost_ns.
  profile::Metric<double> event_cost_ns{};
};

struct OperatorTable {
  std::vector<profile::OpRow> ops;  // children follow their parent; id = index
  std::vector<profile::DelegateResult> delegates;
  std::optional<profile::DelegateSummary> delegate_summary;
  profile::Metric<double> unattributed_ns;  // mean per run
  uint64_t runs = 0;
  double mean_ns = 0;  // of a profiled run
  profile::LossCounts losses;
};

// From the runs that give rows (profile::GivesRows). Linear in slices, apart from sorting the rows.
OperatorTable BuildOperators(const profile::Profile& profile, const profile::ModelFacts& model,
                             const OperatorOptions& options);

}  // namespace inferprobe::analyze
