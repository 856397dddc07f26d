#include "analyze/delegates.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "analyze/resolution.h"
#include "analyze/row_table.h"
#include "base/saturating.h"
#include "base/text.h"

namespace inferprobe::analyze {
namespace {

using profile::DelegateResult;
using profile::Kind;
using profile::Loss;
using profile::Metric;
using profile::OpRow;
using profile::RowType;
using profile::Status;

constexpr int64_t kLargestUnitNs = 1'000'000;

class DelegateWriter {
 public:
  DelegateWriter(const DelegateInput& input, OperatorTable* table)
      : input_(input), table_(*table), ops_(table->ops) {}

  void Write() {
    FindEnds();
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].type == RowType::kDelegateCall) AddCall(i);
    }
  }

 private:
  // Behind the last row inside each row.
  void FindEnds() {
    ends_.resize(ops_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i <= ops_.size(); ++i) {
      while (!open.empty() && (i == ops_.size() || ops_[open.back()].depth >= ops_[i].depth)) {
        ends_[open.back()] = i;
        open.pop_back();
      }
      if (i < ops_.size()) open.push_back(i);
    }
  }

  // What was reported in the call at `at`, and inside that; not what host rows in it hold.
  [[nodiscard]] std::vector<size_t> ReportsIn(size_t at) const {
    std::vector<size_t> reports;
    for (size_t i = at + 1; i < ends_[at];) {
      if (ops_[i].kind == Kind::kHostWall) {
        i = ends_[i];
      } else {
        reports.push_back(i++);
      }
    }
    return reports;
  }

  void AddCall(size_t at) {
    const OpRow& call = ops_[at];
    DelegateResult result;
    result.id = call.delegate ? *call.delegate : static_cast<uint32_t>(table_.delegates.size());
    result.op = call.id;
    result.backend = call.name;
    if (call.delegate) {
      result.backend = input_.model.delegates[*call.delegate].backend;
      result.engine_id = input_.model.delegates[*call.delegate].engine_id;
    }
    result.calls_per_run = call.calls_per_run;
    result.host_ns = static_cast<double>(call.total_ns) / static_cast<double>(table_.runs);
    const std::vector<size_t> reports = ReportsIn(at);
    if (reports.empty()) {
      SetMissing("no inner detail: the delegate reports no operators", &result);
    } else if (ops_[reports.front()].in_ticks) {
      AddTicks(reports, &result);
    } else {
      AddTimes(call, reports, &result);
    }
    table_.delegates.push_back(std::move(result));
  }

  static void SetMissing(const char* why, DelegateResult* result) {
    result->layer_coverage = {Status::kUnavailable, why};
    result->resolution_ns = {Status::kUnavailable, why};
  }

  // Ticks compare with one another, and with nothing else: shares are of what was reported.
  void AddTicks(const std::vector<size_t>& reports, DelegateResult* result) {
    SetMissing("its operators count on a clock of their own", result);
    double all = 0;
    for (const size_t i : reports) all += static_cast<double>(ops_[i].total_ticks);
    for (const size_t i : reports) {
      if (all > 0) ops_[i].share = static_cast<double>(ops_[i].total_ticks) / all;
      result->layers.push_back(ops_[i]);
    }
  }

  static void JudgeMean(double call_ns, const Metric<int64_t>& resolution_ns, OpRow& op) {
    if (!resolution_ns) {
      if (op.total_ns == 0) {
        op.mean_ns = {Status::kBelowResolution, "the engine reported 0 each time"};
      }
    } else if (const auto unit_ns = static_cast<double>(*resolution_ns);
               call_ns >= 0 && call_ns < unit_ns) {
      op.mean_ns = op.p50_ns = BelowUnit(call_ns, unit_ns);
    }
  }

  void AddTimes(const OpRow& call, const std::vector<size_t>& reports, DelegateResult* result) {
    result->resolution_ns = ResolutionOf(reports);
    int64_t reported_ns = 0;
    uint64_t count = 0;
    for (const size_t i : reports) {
      OpRow& op = ops_[i];
      if (op.parent == call.id) {
        reported_ns = base::SaturatingAdd(reported_ns, op.total_ns);
        count += op.calls;
      }
      const double call_ns =
          op.calls != 0 ? static_cast<double>(op.total_ns) / static_cast<double>(op.calls) : 0;
      // Where no run is whole, its mean says so already.
      if (input_.whole) JudgeMean(call_ns, result->resolution_ns, op);
      result->layers.push_back(op);
    }
    if (!input_.whole) {
      result->layer_coverage = {Status::kUnavailable, "events of these runs were dropped"};
      return;
    }
    if (base::IsSaturated(reported_ns) || base::IsSaturated(call.total_ns)) {
      result->layer_coverage = SumOverflowed();
      return;
    }
    result->layer_coverage = CoverageOf(call, reported_ns, count);
    if (!result->layer_coverage || !IsOdd(*result->layer_coverage)) return;
    // Each report may be off by a whole unit; what that explains says nothing about the delegate.
    const auto amiss_ns = std::fabs(static_cast<double>(call.total_ns - reported_ns));
    const auto unit_ns = static_cast<double>(result->resolution_ns ? *result->resolution_ns : 0);
    result->within_rounding = amiss_ns < static_cast<double>(count) * unit_ns;
    if (!result->within_rounding) table_.losses.Add(Loss::kEngineOpsCoverage);
  }

  // The engine's tick where it is known; else the largest of 1 ms, 1 us, 1 ns of which all reported
  // times are multiples.
  [[nodiscard]] Metric<int64_t> ResolutionOf(const std::vector<size_t>& reports) const {
    bool all_zero = true;
    int64_t unit = kLargestUnitNs;
    for (const size_t i : reports) {
      const Row& row = input_.rows.at(input_.order[i]);
      if (row.tick_ns > 0) return std::max<int64_t>(std::llround(row.tick_ns), 1);
      for (const int64_t ns : row.per_run_ns) {
        all_zero = all_zero && ns == 0;
        while (ns % unit != 0) unit /= 1000;
      }
    }
    if (all_zero) return {Status::kUnavailable, "all reported times are zero"};
    return unit;
  }

  static bool IsOdd(double coverage) {
    return coverage < DelegateResult::kCoverageLow || coverage > DelegateResult::kCoverageHigh;
  }

  // Reports that are all zero may be of any unit up to a millisecond.
  static Metric<double> CoverageOf(const OpRow& call, int64_t reported_ns, uint64_t reports) {
    if (call.total_ns <= 0) return {Status::kBelowResolution, "the call itself took no time"};
    const double coverage = static_cast<double>(reported_ns) / static_cast<double>(call.total_ns);
    if (reported_ns != 0 || call.total_ns >= static_cast<int64_t>(reports) * kLargestUnitNs) {
      return coverage;
    }
    return {Status::kBelowResolution,
            fmt::format("of a call of {:.3g} us the engine reports {} times, all of them zero",
                        static_cast<double>(call.total_ns) / static_cast<double>(call.calls) / 1e3,
                        reports / call.calls)};
  }

  const DelegateInput& input_;
  OperatorTable& table_;
  std::vector<OpRow>& ops_;
  std::vector<size_t> ends_;
};

}  // namespace

void AddDelegates(const DelegateInput& input, OperatorTable* table) {
  DelegateWriter(input, table).Write();
}

}  // namespace inferprobe::analyze
