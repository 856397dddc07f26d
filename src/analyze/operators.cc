#include "analyze/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "analyze/row_builder.h"

namespace inferprobe::analyze {
namespace {

using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::Metric;
using profile::OpRow;
using profile::Profile;
using profile::RowType;
using profile::Run;
using profile::Status;

constexpr double kTicksToResolve = 10;
constexpr std::string_view kOperatorCall = "OPERATOR_CALL";
constexpr std::string_view kDelegateCall = "DELEGATE_CALL";
constexpr std::string_view kKernelPrefix = "native_call_";
constexpr int64_t kLargestUnitNs = 1'000'000;

// Turns the filled rows into what is shown.
class TableWriter {
 public:
  TableWriter(const Profile& profile, const profile::ModelFacts& model,
              const OperatorOptions& options, const RowBuilder& builder)
      : profile_(profile), model_(model), options_(options), builder_(builder) {}

  OperatorTable Write() {
    OperatorTable table;
    table.runs = builder_.runs();
    table.losses = builder_.losses();
    if (table.runs == 0) {
      table.unattributed_ns = {Status::kNotMeasured, "no profiled run"};
      return table;
    }
    const std::vector<uint32_t> order = builder_.rows().InProgramOrder();
    id_of_.assign(order.size(), kNone);
    table.ops.reserve(order.size());
    for (const uint32_t index : order) {
      id_of_[index] = static_cast<uint32_t>(table.ops.size());
      table.ops.push_back(Convert(builder_.rows().at(index), table.ops));
    }
    const double runs = static_cast<double>(table.runs);
    table.mean_ns = static_cast<double>(builder_.rows().at(builder_.root()).total_ns) / runs;
    const uint32_t rest = builder_.unattributed();
    table.unattributed_ns =
        rest == kNone
            ? Metric<double>(Status::kNotMeasured, "only the method was timed, nothing around it")
            : Metric<double>(static_cast<double>(builder_.rows().at(rest).total_ns) / runs);
    NameAfterKernels(table.ops);
    for (size_t i = 0; i < table.ops.size(); ++i) {
      if (table.ops[i].type == RowType::kDelegateCall) AddDelegate(table, order, i);
    }
    for (const profile::Track& track : profile_.tracks) {
      if (track.in_ticks) table.losses.Add(Loss::kDelegateClock);
    }
    return table;
  }

 private:
  OpRow Convert(const Row& row, const std::vector<OpRow>& ops) const {
    const auto runs = static_cast<double>(builder_.runs());
    OpRow op;
    op.id = static_cast<uint32_t>(ops.size());
    op.type = row.key.type;
    op.kind = row.key.kind;
    int32_t instruction = row.key.instruction;
    int64_t whole_ns = builder_.rows().at(builder_.root()).total_ns;
    if (row.key.parent != kNone) {
      const OpRow& parent = ops[id_of_[row.key.parent]];
      op.parent = parent.id;
      op.depth = parent.depth + 1;
      if (instruction < 0 && parent.instruction) {
        instruction = static_cast<int32_t>(*parent.instruction);
      }
      if (op.kind != Kind::kHostWall) whole_ns = parent.total_ns;
    }
    op.instruction = instruction >= 0 ? Metric<int64_t>(instruction)
                                      : Metric<int64_t>(Status::kUnavailable, "no instruction");
    op.delegate = DelegateOf(op, instruction);
    op.name = NameOf(row, op, instruction);
    op.calls = row.calls;
    op.calls_per_run = static_cast<double>(row.calls) / runs;
    op.module_path = {Status::kNoMap, "the program carries no map from instructions to modules"};
    if (row.key.in_ticks) {
      op.in_ticks = true;
      op.total_ticks = row.total_ns;
      const profile::Missing unknown{Status::kUnavailable, "its clock's tick is not known"};
      op.mean_ns = unknown;
      op.p50_ns = unknown;
      op.probe_cost_ns = {Status::kNotMeasured, "its cost is inside the call's row"};
      return op;
    }
    op.total_ns = row.total_ns;
    op.self_ns = row.self_ns;
    op.share = whole_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(whole_ns) : 0;
    if (op.kind == Kind::kHostWall) {
      const Metric<double>& cost = options_.event_cost_ns;
      op.probe_cost_ns = cost ? Metric<double>(static_cast<double>(row.events) / runs * *cost)
                              : Metric<double>(cost.missing());
    } else {
      op.probe_cost_ns = {Status::kNotMeasured, "its cost is inside the call's row"};
    }
    op.mean_ns = static_cast<double>(row.total_ns) / runs;
    op.p50_ns = builder_.runs() >= 2
                    ? Metric<double>(row.MedianPerRun(builder_.runs()))
                    : Metric<double>(Status::kTooFewSamples, "needs 2 profiled runs, has 1");
    if (op.kind == Kind::kHostWall) RefuseBelow(op, kTicksToResolve * profile_.clock.tick_ns);
    return op;
  }

  // Without the program, the kernel alone says which operator an instruction called.
  static void NameAfterKernels(std::vector<OpRow>& ops) {
    for (size_t i = 0; i + 1 < ops.size(); ++i) {
      OpRow& call = ops[i];
      const OpRow& kernel = ops[i + 1];
      if (call.type != RowType::kOperatorCall || !call.name.starts_with(kOperatorCall)) continue;
      if (kernel.type != RowType::kKernel || kernel.parent != call.id) continue;
      if (kernel.name.starts_with(kKernelPrefix)) {
        call.name = kernel.name.substr(kKernelPrefix.size());
      }
    }
  }

  static void RefuseBelow(OpRow& op, double shortest_ns) {
    const double per_call =
        op.calls != 0 ? static_cast<double>(op.total_ns) / static_cast<double>(op.calls) : 0;
    // A negative own time is a finding, not noise.
    if (shortest_ns <= 0 || per_call >= shortest_ns || per_call < 0) return;
    const profile::Missing missing{
        Status::kBelowResolution,
        fmt::format("a call takes {:.3g} ns; the clock resolves {:.3g} ns", per_call, shortest_ns)};
    op.mean_ns = missing;
    op.p50_ns = missing;
  }

  Metric<uint32_t> DelegateOf(const OpRow& op, int32_t instruction) const {
    if (op.type != RowType::kDelegateCall) return {Status::kUnavailable, "no delegate call"};
    const auto at = static_cast<size_t>(instruction);
    if (instruction >= 0 && at < model_.instruction_delegates.size()) {
      const int32_t delegate = model_.instruction_delegates[at];
      if (delegate >= 0 && static_cast<size_t>(delegate) < model_.delegates.size()) {
        return static_cast<uint32_t>(delegate);
      }
    }
    if (model_.delegates.size() == 1) return 0U;
    return {Status::kNoMap, "the engine does not say which delegate this instruction calls"};
  }

  std::string NameOf(const Row& row, const OpRow& op, int32_t instruction) const {
    std::string name(profile_.strings.Get(row.key.name));
    switch (op.type) {
      case RowType::kMethod:
        if (op.parent != kNone || op.id != 0) return name;
        if (!options_.root_name.empty()) return options_.root_name;
        if (!model_.method.empty()) return model_.method;
        return builder_.method_name() == 0
                   ? "run"
                   : std::string(profile_.strings.Get(builder_.method_name()));
      case RowType::kSetInputs:
        return "set inputs";
      case RowType::kBetween:
        return "between instructions";
      case RowType::kUnattributed:
        return "unattributed";
      case RowType::kDelegateCall:
        if (!op.delegate) return AtInstruction(name, instruction);
        return fmt::format("{} #{}", model_.delegates[*op.delegate].backend, *op.delegate);
      case RowType::kOperatorCall: {
        const auto at = static_cast<size_t>(instruction);
        if (instruction >= 0 && at < model_.instruction_names.size() &&
            !model_.instruction_names[at].empty()) {
          return model_.instruction_names[at];
        }
        return AtInstruction(name, instruction);
      }
      case RowType::kDelegateOp: {
        std::string shown = name.empty() ? "(unnamed)" : name;
        if (row.key.delegate_id != -1) shown = fmt::format("id {}", row.key.delegate_id);
        if (row.key.occurrence == 0) return shown;
        return fmt::format("{} #{}", shown, row.key.occurrence + 1);
      }
      case RowType::kKernel:
      case RowType::kScope:
      case RowType::kOther:
        return name;
    }
    return name;
  }

  // Without the program all calls have one name.
  [[nodiscard]] std::string AtInstruction(const std::string& name, int32_t instruction) const {
    const bool generic = name == kOperatorCall || name == kDelegateCall;
    if (!generic || model_.instructions || instruction < 0) return name;
    return fmt::format("{}@{}", name, instruction);
  }

  // Largest of 1 ms, 1 us, 1 ns of which all reported times are multiples.
  Metric<int64_t> ResolutionOf(const std::vector<uint32_t>& order, size_t begin, size_t end) const {
    bool all_zero = true;
    int64_t unit = kLargestUnitNs;
    for (size_t i = begin; i < end; ++i) {
      for (const int64_t ns : builder_.rows().at(order[i]).per_run_ns) {
        all_zero = all_zero && ns == 0;
        while (ns % unit != 0) unit /= 1000;
      }
    }
    if (all_zero) return {Status::kUnavailable, "all reported times are zero"};
    return unit;
  }

  void AddDelegate(OperatorTable& table, const std::vector<uint32_t>& order, size_t at) const {
    size_t end = at + 1;
    while (end < table.ops.size() && table.ops[end].depth > table.ops[at].depth) ++end;
    size_t begin = at + 1;  // host-wall rows come first
    while (begin < end && table.ops[begin].kind == Kind::kHostWall) ++begin;

    const OpRow& call = table.ops[at];
    profile::DelegateResult result;
    result.id = call.delegate ? *call.delegate : static_cast<uint32_t>(table.delegates.size());
    result.op = call.id;
    result.backend = call.name;
    if (call.delegate) {
      result.backend = model_.delegates[*call.delegate].backend;
      result.engine_id = model_.delegates[*call.delegate].engine_id;
    }
    result.calls_per_run = call.calls_per_run;
    result.host_ns = static_cast<double>(call.total_ns) / static_cast<double>(table.runs);
    if (begin == end) {
      const profile::Missing missing{Status::kUnavailable,
                                     "no inner detail: the delegate reports no operators"};
      result.layer_coverage = missing;
      result.resolution_ns = missing;
      table.delegates.push_back(std::move(result));
      return;
    }
    if (table.ops[begin].in_ticks) {
      AddTicksOf(table, begin, end, result);
      table.delegates.push_back(std::move(result));
      return;
    }
    result.resolution_ns = ResolutionOf(order, begin, end);
    int64_t reported_ns = 0;
    uint64_t reports = 0;
    for (size_t i = begin; i < end; ++i) {
      if (table.ops[i].parent == call.id) {
        reported_ns += table.ops[i].total_ns;
        reports += table.ops[i].calls;
      }
      if (result.resolution_ns) {
        RefuseBelow(table.ops[i], static_cast<double>(*result.resolution_ns));
      } else if (table.ops[i].kind != Kind::kHostWall && table.ops[i].total_ns == 0) {
        table.ops[i].mean_ns = {Status::kBelowResolution, "the engine reported 0 each time"};
      }
      result.layers.push_back(table.ops[i]);
    }
    result.layer_coverage = CoverageOf(call, reported_ns, reports);
    if (result.layer_coverage && CoverageIsOdd(*result.layer_coverage)) {
      // Each report may be off by a whole unit; what that explains says nothing about the delegate.
      const auto amiss_ns = std::fabs(static_cast<double>(call.total_ns - reported_ns));
      const auto unit_ns = static_cast<double>(result.resolution_ns ? *result.resolution_ns : 0);
      result.within_rounding = amiss_ns < static_cast<double>(reports) * unit_ns;
      if (!result.within_rounding) table.losses.Add(Loss::kEngineOpsCoverage);
    }
    table.delegates.push_back(std::move(result));
  }

  // Ticks compare with one another, and with nothing else: shares are of what was reported.
  static void AddTicksOf(OperatorTable& table, size_t begin, size_t end,
                         profile::DelegateResult& result) {
    const profile::Missing unknown{Status::kUnavailable,
                                   "its operators count on a clock of their own"};
    result.resolution_ns = unknown;
    result.layer_coverage = unknown;
    double all = 0;
    for (size_t i = begin; i < end; ++i) all += static_cast<double>(table.ops[i].total_ticks);
    for (size_t i = begin; i < end; ++i) {
      if (all > 0) table.ops[i].share = static_cast<double>(table.ops[i].total_ticks) / all;
      result.layers.push_back(table.ops[i]);
    }
  }

  static bool CoverageIsOdd(double coverage) {
    return coverage < profile::DelegateResult::kCoverageLow ||
           coverage > profile::DelegateResult::kCoverageHigh;
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

  const Profile& profile_;
  const profile::ModelFacts& model_;
  const OperatorOptions& options_;
  const RowBuilder& builder_;
  std::vector<uint32_t> id_of_;
};

}  // namespace

OperatorTable BuildOperators(const Profile& profile, const profile::ModelFacts& model,
                             const OperatorOptions& options) {
  RowBuilder builder(profile);
  for (const Run& run : profile.runs) {
    // Without some of its events a run's rows would blame the rest.
    if (profile::GivesRows(run.mode) && !run.incomplete) builder.AddRun(run);
  }
  return TableWriter(profile, model, options, builder).Write();
}

}  // namespace inferprobe::analyze
