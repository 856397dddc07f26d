#include "analyze/delegates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
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
using profile::PhaseRow;
using profile::RowType;
using profile::Status;

constexpr int64_t kLargestUnitNs = 1'000'000;
constexpr double kMostNs = 9e18;  // below what 64 bits hold

int64_t WholeNs(double ns) { return std::llround(std::min(ns, kMostNs)); }

class DelegateWriter {
 public:
  DelegateWriter(const DelegateInput& input, OperatorTable* table)
      : input_(input), table_(*table), ops_(table->ops) {}

  void Write() {
    FindEnds();
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].type == RowType::kDelegateCall || RowAt(i).key.is_call) AddCall(i);
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
    result.mode = RowAt(at).key.mode;
    const size_t whole_call = WholeCallIn(at);
    const bool has_whole = whole_call != at || RowAt(at).key.is_call;
    if (has_whole) result.whole_call = ops_[whole_call].id;
    result.phases = PhasesOf(call, has_whole ? &ops_[whole_call] : nullptr);
    result.device = input_.device_times.Of(input_.order[at], table_.runs);
    const std::vector<size_t> reports = ReportsIn(at);
    if (reports.empty()) {
      SetMissing("no inner detail: the delegate reports no operators", &result);
    } else if (ops_[reports.front()].in_ticks) {
      AddTicks(reports, &result);
    } else {
      AddTimes(at, ops_[whole_call], reports, &result);
    }
    table_.delegates.push_back(std::move(result));
  }

  [[nodiscard]] const Row& RowAt(size_t op) const { return input_.rows.at(input_.order[op]); }

  // The delegate's own whole-call event in the call at `at`; that call where there is none.
  [[nodiscard]] size_t WholeCallIn(size_t at) const {
    if (RowAt(at).key.is_call) return at;
    for (size_t i = at + 1; i < ends_[at]; i = ends_[i]) {
      if (RowAt(i).key.noted && ops_[i].name.ends_with(profile::kWholeCall)) return i;
    }
    return at;
  }

  // The host's events of the kit directly in the whole call, in their order.
  [[nodiscard]] Metric<std::vector<PhaseRow>> PhasesOf(const OpRow& call,
                                                       const OpRow* whole_call) const {
    if (whole_call == nullptr) {
      return {Status::kNotRequested, "no event of the delegate kit is in these calls"};
    }
    std::vector<PhaseRow> phases;
    for (size_t i = whole_call->id + 1; i < ends_[whole_call->id]; i = ends_[i]) {
      const OpRow& row = ops_[i];
      if (!RowAt(i).key.noted || row.kind != Kind::kHostWall) continue;
      PhaseRow phase{.name = row.name,
                     .kind = row.kind,
                     .calls_per_run = row.calls_per_run,
                     .calls = row.calls,
                     .total_ns = row.total_ns,
                     .mean_ns = row.mean_ns,
                     .p50_ns = row.p50_ns,
                     .share = row.share};
      if (row.share && call.total_ns > 0) {
        phase.share = static_cast<double>(row.total_ns) / static_cast<double>(call.total_ns);
      }
      phases.push_back(std::move(phase));
    }
    if (phases.empty()) {
      return {Status::kNotRequested, "--level phases records those that the delegate has"};
    }
    return phases;
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

  // A layer's time that was computed from the engine's running mean. nullopt: it was not, or the
  // number of the engine's calls is not known.
  [[nodiscard]] std::optional<double> TelescopedMeanNs(size_t op, double calls_per_run) const {
    if (!RowAt(op).key.running_mean) return std::nullopt;
    const std::optional<double> per_call_ns = input_.means.PerCallNs(input_.order[op]);
    if (!per_call_ns) return std::nullopt;
    return *per_call_ns * calls_per_run;
  }

  static void SetTelescoped(double mean_ns, const TelescopedMeans::Readings& readings,
                            double calls_per_run, double whole_ns, OpRow& op) {
    const auto below = [](const char* what, double value_ns, double error_ns) {
      return profile::Missing{
          Status::kBelowResolution,
          fmt::format("{}, {}, may be off by {}: it comes from a mean in whole units", what,
                      base::FormatDurationNs(value_ns), base::FormatDurationNs(error_ns))};
    };
    const double error_ns = readings.error_ns * calls_per_run;
    op.mean_ns = error_ns > mean_ns ? Metric<double>(below("the mean", mean_ns, error_ns))
                                    : Metric<double>(mean_ns);
    op.share = whole_ns > 0 ? Metric<double>(mean_ns / whole_ns) : op.share;
    const double single_ns = readings.single_error_ns * calls_per_run;
    if (op.p50_ns && single_ns > *op.p50_ns) {
      op.p50_ns = below("the time of one run", *op.p50_ns, single_ns);
    }
  }

  void AddTimes(size_t at, const OpRow& host, const std::vector<size_t>& reports,
                DelegateResult* result) {
    const OpRow& call = ops_[at];
    result->resolution_ns = ResolutionOf(reports);
    const auto readings = input_.means.ReadingsOf(input_.order[at]);
    int64_t reported_ns = 0;
    uint64_t count = 0;
    for (const size_t i : reports) {
      OpRow& op = ops_[i];
      const std::optional<double> telescoped_ns = TelescopedMeanNs(i, call.calls_per_run);
      if (RowAt(i).key.running_mean && !result->layer_error_ns) {
        result->layer_error_ns =
            readings && input_.whole
                ? Metric<double>(readings->error_ns * call.calls_per_run)
                : Metric<double>(Status::kUnavailable,
                                 "the engine's number of calls was not recorded");
      }
      if (telescoped_ns && readings && input_.whole) {
        reported_ns = base::SaturatingAdd(
            reported_ns, WholeNs(*telescoped_ns * static_cast<double>(table_.runs)));
        count += op.calls;
        SetTelescoped(*telescoped_ns, *readings, call.calls_per_run,
                      static_cast<double>(host.total_ns) / static_cast<double>(table_.runs), op);
        result->layers.push_back(op);
        continue;
      }
      if (op.parent == call.id) {
        if (op.share && host.total_ns > 0) {
          op.share = static_cast<double>(op.total_ns) / static_cast<double>(host.total_ns);
        }
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
    if (result->mode == profile::CallMode::kAsynchronous) {
      const profile::Missing no_whole{Status::kUnavailable,
                                      "the calls return while the engine works: their host time "
                                      "is not the engine's"};
      result->layer_coverage = no_whole;
      for (const size_t i : reports) ops_[i].share = no_whole;
      for (OpRow& layer : result->layers) layer.share = no_whole;
      return;
    }
    if (base::IsSaturated(reported_ns) || base::IsSaturated(host.total_ns)) {
      result->layer_coverage = SumOverflowed();
      return;
    }
    result->layer_coverage = CoverageOf(host, reported_ns, count);
    if (!result->layer_coverage || !IsOdd(*result->layer_coverage)) return;
    // Each report may be off by a whole unit; what that explains says nothing about the delegate.
    const auto amiss_ns = std::fabs(static_cast<double>(host.total_ns - reported_ns));
    const auto unit_ns = static_cast<double>(result->resolution_ns ? *result->resolution_ns : 0);
    double rounding_ns = static_cast<double>(count) * unit_ns;
    if (result->layer_error_ns && *result->layer_error_ns) {
      rounding_ns = **result->layer_error_ns * static_cast<double>(table_.runs * reports.size());
    }
    result->within_rounding = amiss_ns < rounding_ns;
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
