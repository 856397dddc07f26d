#include "analyze/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyze/delegate_summary.h"
#include "analyze/delegates.h"
#include "analyze/device_times.h"
#include "analyze/resolution.h"
#include "analyze/row_builder.h"
#include "analyze/row_table.h"
#include "analyze/telescoped_means.h"
#include "base/saturating.h"

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
using profile::RunMode;
using profile::Status;

constexpr std::string_view kOperatorCall = "OPERATOR_CALL";
constexpr std::string_view kDelegateCall = "DELEGATE_CALL";
constexpr std::string_view kKernelPrefix = "native_call_";

// Turns the filled rows into what is shown.
class TableWriter {
 public:
  TableWriter(const Profile& profile, const profile::ModelFacts& model,
              const OperatorOptions& options, const RowBuilder& builder,
              profile::DelegateNotes* notes, std::string none_whole)
      : profile_(profile),
        model_(model),
        options_(options),
        builder_(builder),
        notes_(notes),
        none_whole_(std::move(none_whole)) {}

  // `counted`: the runs that the rows are of.
  OperatorTable Write(const std::vector<uint32_t>& counted) {
    OperatorTable table;
    table.runs = builder_.runs();
    table.losses = builder_.losses();
    if (table.runs == 0) {
      table.unattributed_ns = {Status::kNotMeasured, "no profiled run"};
      return table;
    }
    std::vector<uint32_t> order = builder_.rows().InProgramOrder();
    id_of_.assign(order.size(), kNone);
    // What lies between events is as long as the events that were lost.
    if (!whole()) std::erase_if(order, [&](uint32_t row) { return IsRest(row); });
    FindMixedCalls();
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
        : whole() ? Metric<double>(static_cast<double>(builder_.rows().at(rest).total_ns) / runs)
                  : Metric<double>(NoneWhole());
    NameAfterKernels(table.ops);
    SayWhatOperatorsCost(table.ops);
    const TelescopedMeans means(profile_, notes_, builder_, counted);
    const DeviceTimes device_times(profile_, notes_, builder_);
    AddDelegates({builder_.rows(), order, model_, means, device_times, whole()}, &table);
    table.delegate_summary = SummarizeDelegates(table, whole());
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
    op.module_path = ModuleOf(row, ops, op.parent);
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
    op.share = whole_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(whole_ns)
                            : Metric<double>(Status::kBelowResolution, "the whole took no time");
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
    const double call_ns =
        op.calls != 0 ? static_cast<double>(op.total_ns) / static_cast<double>(op.calls) : 0;
    if (op.kind == Kind::kHostWall && IsBelow(call_ns, profile_.clock.tick_ns)) {
      op.mean_ns = op.p50_ns = BelowClock(call_ns, profile_.clock.tick_ns);
    }
    if (base::IsSaturated(row.total_ns)) op.mean_ns = op.p50_ns = op.share = SumOverflowed();
    if (!whole()) op.mean_ns = op.p50_ns = op.share = NoneWhole();
    if (op.kind == Kind::kDevice) {
      op.share = {Status::kUnavailable, "a device's time is no part of the host's"};
    }
    return op;
  }

  // Of a module's row its own path, of what is in it the same.
  Metric<std::string> ModuleOf(const Row& row, const std::vector<OpRow>& ops,
                               uint32_t parent) const {
    const std::vector<profile::Module>& tree = model_.modules.tree;
    if (tree.empty()) {
      return {Status::kNoMap, "the program carries no map from instructions to modules"};
    }
    if (row.key.module < tree.size()) return tree[row.key.module].path;
    if (parent != kNone) return ops[parent].module_path;
    return {Status::kUnavailable, "in no module"};
  }

  static std::string NameOfModule(const profile::Module& module) {
    return module.path.empty() ? module.class_name
                               : fmt::format("{} {}", module.path, module.class_name);
  }

  // What a framework's profiler recorded cost time of its own, nobody knows how much of it where.
  static void SayWhatOperatorsCost(std::vector<OpRow>& ops) {
    std::vector<bool> around(ops.size());
    for (size_t i = ops.size(); i-- > 0;) {
      if (ops[i].type != RowType::kOperator && !around[i]) continue;
      ops[i].probe_cost_ns = {Status::kNotMeasured,
                              "the framework's own profiler recorded its operators: see the "
                              "perturbation"};
      if (ops[i].parent != kNone) around[ops[i].parent] = true;
    }
  }

  [[nodiscard]] bool whole() const { return none_whole_.empty(); }
  [[nodiscard]] bool IsRest(uint32_t row) const {
    const RowType type = builder_.rows().at(row).key.type;
    return type == RowType::kBetween || type == RowType::kUnattributed;
  }
  // Nobody knows of which run, and of which row, the missing events were.
  [[nodiscard]] profile::Missing NoneWhole() const { return {Status::kUnavailable, none_whole_}; }

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
        return (op.delegate
                    ? fmt::format("{} #{}", model_.delegates[*op.delegate].backend, *op.delegate)
                    : AtInstruction(name, instruction)) +
               ModeText(row.key);
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
      case RowType::kOther:
        return row.key.is_call ? name + ModeText(row.key) : name;
      case RowType::kModule:
        return row.key.module < model_.modules.tree.size()
                   ? NameOfModule(model_.modules.tree[row.key.module])
                   : name;
      case RowType::kKernel:
      case RowType::kScope:
      case RowType::kOperator:
        return name;
    }
    return name;
  }

  // Calls of one instruction that differ by their mode are rows of their own.
  void FindMixedCalls() {
    for (uint32_t i = 0; i < builder_.rows().size(); ++i) {
      RowKey key = builder_.rows().at(i).key;
      if (key.type != RowType::kDelegateCall && !key.is_call) continue;
      key.mode = profile::CallMode::kUnknown;
      ++modes_[key];
    }
  }

  [[nodiscard]] std::string ModeText(RowKey key) const {
    const profile::CallMode mode = std::exchange(key.mode, profile::CallMode::kUnknown);
    if (mode == profile::CallMode::kUnknown || modes_.at(key) < 2) return "";
    return fmt::format(" ({})", profile::CallModeName(mode));
  }

  // Without the program all calls have one name.
  [[nodiscard]] std::string AtInstruction(const std::string& name, int32_t instruction) const {
    const bool generic = name == kOperatorCall || name == kDelegateCall;
    if (!generic || model_.instructions || instruction < 0) return name;
    return fmt::format("{}@{}", name, instruction);
  }

  const Profile& profile_;
  const profile::ModelFacts& model_;
  const OperatorOptions& options_;
  const RowBuilder& builder_;
  profile::DelegateNotes* notes_;
  std::unordered_map<RowKey, uint32_t, RowKeyHash> modes_;  // calls but for their mode: how many
  std::string none_whole_;  // why there are no means, where events of all runs were dropped
  std::vector<uint32_t> id_of_;
};

}  // namespace

OperatorTable BuildOperators(const Profile& profile, const profile::ModelFacts& model,
                             const OperatorOptions& options) {
  // Without some of its events a run's rows would blame the rest. Only of a file in which no run is
  // whole the rows show what was recorded, without means.
  bool any_whole = false;
  uint64_t incomplete = 0;
  Loss why = Loss::kIncompleteRun;
  for (const Run& run : profile.runs) {
    if (!profile::GivesRows(run.mode)) continue;
    any_whole = any_whole || !run.incomplete;
    incomplete += run.incomplete ? 1 : 0;
    if (run.incomplete && why == Loss::kIncompleteRun) why = run.why;
  }
  profile::DelegateNotes notes(&profile);
  RowBuilder builder(profile, &notes);
  std::string none_whole;
  std::vector<uint32_t> counted;
  for (uint32_t i = 0; i < profile.runs.size(); ++i) {
    const Run& run = profile.runs[i];
    if (!profile::GivesRows(run.mode)) continue;
    if (run.incomplete && (any_whole || run.mode != RunMode::kProfiled)) continue;
    if (run.incomplete && none_whole.empty()) {
      none_whole = fmt::format("no run is whole, each lost events{}",
                               why == Loss::kIncompleteRun
                                   ? std::string()
                                   : fmt::format(" ({})", profile::InfoOf(why).name));
    }
    builder.AddRun(run);
    counted.push_back(i);
  }
  OperatorTable table =
      TableWriter(profile, model, options, builder, &notes, std::move(none_whole)).Write(counted);
  table.losses.Add(Loss::kIncompleteRun, incomplete);
  return table;
}

}  // namespace inferprobe::analyze
