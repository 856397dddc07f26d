#include "analyze/delegate_summary.h"

#include <vector>

#include "analyze/row_table.h"
#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using profile::DelegateSummary;
using profile::Kind;
using profile::Metric;
using profile::OpRow;
using profile::RowType;
using profile::Status;

struct Totals {
  int64_t delegates_ns = 0;
  int64_t kernels_ns = 0;
  int64_t between_ns = 0;
  int64_t other_ns = 0;
  int64_t unattributed_ns = 0;
};

void Add(int64_t& sum, int64_t ns) { sum = base::SaturatingAdd(sum, ns); }

Totals TotalsOf(const OperatorTable& table) {
  const std::vector<OpRow>& ops = table.ops;
  std::vector<bool> is_delegates(ops.size());
  for (const profile::DelegateResult& delegate : table.delegates) {
    if (delegate.op < ops.size()) is_delegates[delegate.op] = true;
  }
  Totals totals;
  // Whether a row lies in the run, and in none that was taken whole. Parents stand before children.
  std::vector<bool> open(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpRow& row = ops[i];
    if (row.kind != Kind::kHostWall) continue;
    if (i == 0) {
      open[i] = true;
      continue;
    }
    if (row.parent >= i || !open[row.parent]) continue;
    if (is_delegates[i]) {
      Add(totals.delegates_ns, row.total_ns);
      continue;
    }
    switch (row.type) {
      case RowType::kOperatorCall:
        Add(totals.kernels_ns, row.total_ns);
        break;
      case RowType::kBetween:
        Add(totals.between_ns, row.total_ns);
        break;
      case RowType::kUnattributed:
        Add(totals.unattributed_ns, row.total_ns);
        break;
      default:
        Add(totals.other_ns, row.self_ns);
        open[i] = true;
    }
  }
  return totals;
}

}  // namespace

std::optional<DelegateSummary> SummarizeDelegates(const OperatorTable& table, bool whole) {
  if (table.delegates.empty() || table.runs == 0) return std::nullopt;
  const auto mean = [&](int64_t total_ns) -> Metric<double> {
    if (!whole) return {Status::kUnavailable, "events of these runs were dropped"};
    if (base::IsSaturated(total_ns)) return SumOverflowed();
    return static_cast<double>(total_ns) / static_cast<double>(table.runs);
  };
  const Totals totals = TotalsOf(table);
  DelegateSummary summary;
  summary.delegates_ns = mean(totals.delegates_ns);
  summary.kernels_ns = mean(totals.kernels_ns);
  summary.between_ns = mean(totals.between_ns);
  summary.other_ns = mean(totals.other_ns);
  summary.unattributed_ns =
      table.unattributed_ns ? mean(totals.unattributed_ns) : table.unattributed_ns;
  return summary;
}

}  // namespace inferprobe::analyze
