#include "analyze/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/module_calls.h"
#include "analyze/row_table.h"
#include "base/saturating.h"
#include "base/text.h"

namespace inferprobe::analyze {
namespace {

using base::SaturatingAdd;
using profile::kNone;
using profile::Metric;
using profile::Missing;
using profile::Module;
using profile::ModuleFacts;
using profile::ModuleOperator;
using profile::ModuleReport;
using profile::ModuleRow;
using profile::Profile;
using profile::Status;

// What a sum that may have been cut is as a figure.
Metric<int64_t> Figure(int64_t sum) {
  if (base::IsSaturated(sum)) return Missing{Status::kOverflow, "the sum does not fit 64 bits"};
  return sum;
}

// Of one module, or of the operators of one name that one module called.
struct Sums {
  uint64_t calls = 0;
  uint64_t outermost_calls = 0;
  uint64_t raised = 0;
  uint64_t unseen = 0;  // calls on threads whose operators were not recorded
  int64_t self_ns = 0;
  int64_t operators_ns = 0;
  int64_t total_ns = 0;  // of the outermost calls
  ModuleAmounts self;    // of a module: with its own operators
  ModuleAmounts total;   // of the outermost calls
  uint32_t open = 0;     // calls that are going on
};

struct OperatorSums {
  uint32_t module = kNone;  // kNone: no module called it
  profile::StringId name = 0;
  int64_t first_ns = 0;
  Sums sums;
};

// Walks through all calls once, each entered and left.
class Walk {
 public:
  Walk(const std::vector<ModuleCall>& calls, size_t modules) : calls_(calls), modules_(modules) {}

  void Run() {
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      LeaveTo(calls_[i].parent);
      Enter(i);
    }
    LeaveTo(kNone);
  }

  [[nodiscard]] const Sums& module(size_t index) const { return modules_[index]; }
  [[nodiscard]] const std::vector<OperatorSums>& operators() const { return operators_; }
  [[nodiscard]] int64_t total_ns() const { return total_ns_; }
  [[nodiscard]] int64_t outside_ns() const { return outside_ns_; }

 private:
  struct Open {
    uint32_t index;      // of the call
    uint32_t module;     // the innermost, this call included
    uint32_t operators;  // whose sums it is in; kNone: the module's
    bool outermost;      // of those sums
    int64_t inside_ns = 0;
    ModuleAmounts amounts;  // with what is inside
  };

  void LeaveTo(uint32_t parent) {
    while (!open_.empty() && open_.back().index != parent) Leave();
  }

  void Enter(uint32_t index) {
    const ModuleCall& call = calls_[index];
    const bool is_module = call.module != kNone;
    const uint32_t around = open_.empty() ? kNone : open_.back().module;
    const uint32_t module = is_module ? call.module : around;
    const uint32_t operators = is_module ? kNone : FindOperators(module, call);
    Sums& sums = is_module ? modules_[module] : operators_[operators].sums;
    open_.push_back({index, module, operators, sums.open++ == 0, 0, call.own});
    if (is_module && open_modules_++ == 0) total_ns_ = SaturatingAdd(total_ns_, call.dur_ns);
  }

  void Leave() {
    const Open open = open_.back();
    open_.pop_back();
    const ModuleCall& call = calls_[open.index];
    const bool is_module = open.operators == kNone;
    const int64_t self_ns = SaturatingAdd(call.dur_ns, -open.inside_ns);
    Sums& sums = is_module ? modules_[open.module] : operators_[open.operators].sums;
    --sums.open;
    ++sums.calls;
    sums.raised += call.raised ? 1 : 0;
    sums.unseen += call.seen ? 0 : 1;
    sums.self_ns = SaturatingAdd(sums.self_ns, self_ns);
    sums.self.Add(call.own);
    if (open.outermost) {
      ++sums.outermost_calls;
      sums.total_ns = SaturatingAdd(sums.total_ns, call.dur_ns);
      sums.total.Add(open.amounts);
    }
    if (is_module) {
      --open_modules_;
    } else if (open.module == kNone) {
      outside_ns_ = SaturatingAdd(outside_ns_, self_ns);
    } else {
      Sums& module = modules_[open.module];
      module.operators_ns = SaturatingAdd(module.operators_ns, self_ns);
      module.self.Add(call.own);
    }
    if (open_.empty()) return;
    Open& around = open_.back();
    around.inside_ns = SaturatingAdd(around.inside_ns, call.dur_ns);
    around.amounts.Add(open.amounts);
  }

  uint32_t FindOperators(uint32_t module, const ModuleCall& call) {
    const auto [found, fresh] = index_.try_emplace(uint64_t{module} << 32 | call.name,
                                                   static_cast<uint32_t>(operators_.size()));
    if (fresh) operators_.push_back({module, call.name, call.start_ns, {}});
    OperatorSums& sums = operators_[found->second];
    sums.first_ns = std::min(sums.first_ns, call.start_ns);
    return found->second;
  }

  const std::vector<ModuleCall>& calls_;
  std::vector<Sums> modules_;
  std::vector<OperatorSums> operators_;
  std::unordered_map<uint64_t, uint32_t> index_;  // of operators_, by module and name
  std::vector<Open> open_;
  uint32_t open_modules_ = 0;
  int64_t total_ns_ = 0;
  int64_t outside_ns_ = 0;
};

// The sums as rows: figures where something was recorded, and reasons where not.
class Report {
 public:
  Report(const Profile& profile, const ModuleFacts& facts, const ModuleCalls& found)
      : profile_(profile),
        facts_(facts),
        found_(found),
        dropped_(profile.losses.AnyEventDropped()),
        walk_(found.calls, facts.tree.size()) {}

  ModuleReport Make() {
    walk_.Run();
    ModuleReport report;
    report.total_ns = walk_.total_ns();
    report.outside_ns = walk_.outside_ns();
    report.facts.operators = facts_.operators;
    report.facts.memory = facts_.memory;
    report.facts.device = facts_.device;
    report.facts.clock_error_ns = facts_.clock_error_ns;
    report.facts.seen_thread = facts_.seen_thread;
    report.facts.not_covered = facts_.not_covered;
    DescribeLeftOut(&report.facts.not_covered);
    if (dropped_) {
      report.facts.not_covered.push_back(
          {"calls that were dropped (ring_dropped, no_ring)",
           "their time and operators are of the module around, or in no module"});
    }
    report.rows.reserve(facts_.tree.size());
    for (uint32_t i = 0; i < facts_.tree.size(); ++i) {
      ModuleRow& row = report.rows.emplace_back();
      row.module = i;
      row.facts = facts_.tree[i];
      if (row.facts.parent < i) row.depth = report.rows[row.facts.parent].depth + 1;
      Fill(walk_.module(i), &row);
    }
    std::vector<const OperatorSums*> by_start;
    for (const OperatorSums& sums : walk_.operators()) by_start.push_back(&sums);
    std::stable_sort(
        by_start.begin(), by_start.end(),
        [](const OperatorSums* a, const OperatorSums* b) { return a->first_ns < b->first_ns; });
    for (const OperatorSums* sums : by_start) {
      auto& list = sums->module == kNone ? report.outside : report.rows[sums->module].operators;
      list.push_back(OperatorOf(*sums));
    }
    return report;
  }

 private:
  void DescribeLeftOut(std::vector<profile::NotCovered>* said) const {
    if (found_.in_no_run != 0) {
      said->push_back({fmt::format("{} calls of modules", found_.in_no_run),
                       "they are inside of no run: those are in no row"});
    }
    if (facts_.device && found_.unowned_device_ns > 0) {
      said->push_back(
          {fmt::format("{} of work on the device",
                       base::FormatDurationNs(static_cast<double>(found_.unowned_device_ns))),
           "neither a module nor an operator that was recorded launched it: it is in no row"});
    }
  }

  // Figures of what was recorded, or why it was not.
  static Metric<int64_t> Recorded(const Metric<bool>& recorded, int64_t sum) {
    if (!recorded) return recorded.missing();
    if (!*recorded) return Missing{Status::kNotMeasured, ""};
    return Figure(sum);
  }
  // A device's memory needs both.
  [[nodiscard]] Metric<int64_t> DeviceBytes(int64_t sum) const {
    return facts_.memory && !facts_.device ? Recorded(facts_.device, sum)
                                           : Recorded(facts_.memory, sum);
  }

  void Fill(const Sums& sums, ModuleRow* row) const {
    row->calls = sums.calls;
    row->outermost_calls = sums.outermost_calls;
    row->raised = sums.raised;
    if (sums.calls == 0) {
      FillWithout(WhyNoCalls(row->facts), row);
      return;
    }
    bool overflowed = false;
    for (const int64_t sum : {sums.total_ns, sums.self_ns, sums.operators_ns}) {
      overflowed = overflowed || base::IsSaturated(sum);
    }
    int64_t children_ns = 0;  // may be below 0 in a damaged recording
    overflowed = overflowed || __builtin_sub_overflow(sums.total_ns, sums.self_ns, &children_ns) ||
                 __builtin_sub_overflow(children_ns, sums.operators_ns, &children_ns);
    if (overflowed) {
      row->self_ns = row->operators_ns = row->children_ns = row->total_ns = SumOverflowed();
      row->share = SumOverflowed();
    } else {
      row->self_ns = sums.self_ns;
      row->operators_ns = Recorded(facts_.operators, sums.operators_ns);
      row->children_ns = children_ns;
      row->total_ns = sums.total_ns;
      row->share = ShareOf(sums.total_ns);
    }
    row->self_device_ns = Recorded(facts_.device, sums.self.device_ns);
    row->total_device_ns = Recorded(facts_.device, sums.total.device_ns);
    if (sums.unseen != 0) FillUnseen(row);
    if (sums.unseen != 0 && facts_.memory) return;
    row->self_cpu_bytes = Recorded(facts_.memory, sums.self.cpu_bytes);
    row->total_cpu_bytes = Recorded(facts_.memory, sums.total.cpu_bytes);
    row->self_device_bytes = DeviceBytes(sums.self.device_bytes);
    row->total_device_bytes = DeviceBytes(sums.total.device_bytes);
    row->allocated_bytes = Recorded(facts_.memory, sums.total.allocated_bytes);
    row->freed_bytes = Recorded(facts_.memory, sums.total.freed_bytes);
  }

  // Its operators ran on threads where nobody saw them: their time is not its own, and what they
  // allocated is not 0.
  void FillUnseen(ModuleRow* row) const {
    const Missing unseen{Status::kUnavailable,
                         "it ran on threads of which torch records no operators, nor their memory"};
    if (facts_.operators) row->self_ns = row->operators_ns = unseen;
    if (!facts_.memory) return;
    for (Metric<int64_t>* figure :
         {&row->self_cpu_bytes, &row->total_cpu_bytes, &row->allocated_bytes, &row->freed_bytes}) {
      *figure = unseen;
    }
    row->self_device_bytes = row->total_device_bytes =
        facts_.device ? unseen : facts_.device.missing();
  }

  // A module that was not called took no time, and no 0 either.
  [[nodiscard]] Missing WhyNoCalls(const Module& module) const {
    if (!module.not_covered.empty()) return {Status::kUnsupported, module.not_covered};
    if (!module.chosen) return {Status::kNotRequested, "not chosen"};
    if (!found_.none_counted.empty()) return {Status::kUnavailable, found_.none_counted};
    if (dropped_) return {Status::kNotMeasured, "not recorded: calls of modules were dropped"};
    return {Status::kNotMeasured, "not called"};
  }

  static void FillWithout(const Missing& why, ModuleRow* row) {
    for (Metric<int64_t>* figure :
         {&row->self_ns, &row->operators_ns, &row->children_ns, &row->total_ns,
          &row->self_device_ns, &row->total_device_ns, &row->self_cpu_bytes, &row->total_cpu_bytes,
          &row->self_device_bytes, &row->total_device_bytes, &row->allocated_bytes,
          &row->freed_bytes}) {
      *figure = why;
    }
    row->share = why;
  }

  [[nodiscard]] Metric<double> ShareOf(int64_t ns) const {
    const int64_t all_ns = walk_.total_ns();
    if (base::IsSaturated(all_ns)) return SumOverflowed();
    if (all_ns == 0) return Missing{Status::kBelowResolution, "the modules took no time"};
    return static_cast<double>(ns) / static_cast<double>(all_ns);
  }

  [[nodiscard]] ModuleOperator OperatorOf(const OperatorSums& from) const {
    const Sums& sums = from.sums;
    ModuleOperator out;
    out.name = profile_.strings.Get(from.name);
    out.calls = sums.calls;
    out.self_ns = sums.self_ns;
    out.total_ns = sums.total_ns;
    out.self_device_ns = Recorded(facts_.device, sums.self.device_ns);
    out.total_device_ns = Recorded(facts_.device, sums.total.device_ns);
    out.self_cpu_bytes = Recorded(facts_.memory, sums.self.cpu_bytes);
    out.total_cpu_bytes = Recorded(facts_.memory, sums.total.cpu_bytes);
    out.self_device_bytes = DeviceBytes(sums.self.device_bytes);
    out.total_device_bytes = DeviceBytes(sums.total.device_bytes);
    return out;
  }

  const Profile& profile_;
  const ModuleFacts& facts_;
  const ModuleCalls& found_;
  const bool dropped_;  // calls may be missing, of any module
  Walk walk_;
};

}  // namespace

Metric<ModuleReport> AnalyzeModules(const Profile& profile, const profile::ModelFacts& model) {
  const ModuleFacts& facts = model.modules;
  if (facts.tree.empty()) {
    // Of a model whose modules are hidden, why they are.
    if (!facts.not_covered.empty()) {
      return Missing{Status::kUnsupported, facts.not_covered.front().why};
    }
    return Missing{Status::kUnsupported, "only models of PyTorch have modules"};
  }
  const ModuleCalls found =
      FindModuleCalls(profile, {.modules = static_cast<uint32_t>(facts.tree.size()),
                                .seen_thread = facts.seen_thread,
                                .operators = facts.operators && *facts.operators});
  return Report(profile, facts, found).Make();
}

}  // namespace inferprobe::analyze
