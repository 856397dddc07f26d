#include "analyze/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "analyze/row_table.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::Metric;
using profile::OpRow;
using profile::Profile;
using profile::RowType;
using profile::Run;
using profile::RunMode;
using profile::Slice;
using profile::Status;

// Among siblings: host-wall rows by their start, then the engine's operators in its own order
// (their starts may be made up), then what is left over.
constexpr int64_t kOrderEngine = int64_t{1} << 62;
constexpr int64_t kOrderBetween = std::numeric_limits<int64_t>::max() - 1;
constexpr int64_t kOrderUnattributed = std::numeric_limits<int64_t>::max();

constexpr double kTicksToResolve = 10;
constexpr int64_t kLargestUnitNs = 1'000'000;

RowType TypeOf(Category category) {
  switch (category) {
    case Category::kScope:
      return RowType::kScope;
    case Category::kSetInputs:
      return RowType::kSetInputs;
    case Category::kRun:
    case Category::kMethod:
      return RowType::kMethod;
    case Category::kOperatorCall:
      return RowType::kOperatorCall;
    case Category::kKernel:
      return RowType::kKernel;
    case Category::kDelegateCall:
      return RowType::kDelegateCall;
    case Category::kDelegateOp:
      return RowType::kDelegateOp;
    case Category::kLoad:
    case Category::kOther:
      return RowType::kOther;
  }
  return RowType::kOther;
}

// Fills a RowTable from one run after another.
class RowBuilder {
 public:
  explicit RowBuilder(const Profile& profile) : profile_(profile) {
    root_ = rows_.Find({.type = RowType::kMethod}, std::numeric_limits<int64_t>::min());
    unattributed_ =
        rows_.Find({.parent = root_, .type = RowType::kUnattributed}, kOrderUnattributed);
  }

  void AddRun(const Run& run) {
    const auto size = static_cast<uint32_t>(profile_.slices.size());
    first_ = std::min(run.first_slice, size);
    count_ = std::min(run.slice_count, size - first_);
    FindRunSlice();
    FindParents(run);
    FindRows(run);
    AddTimes(run);
    AddScopesAround(run);
    ++runs_;
  }

  [[nodiscard]] const RowTable& rows() const { return rows_; }
  [[nodiscard]] uint32_t root() const { return root_; }
  [[nodiscard]] uint32_t unattributed() const { return unattributed_; }
  [[nodiscard]] uint64_t runs() const { return runs_; }
  [[nodiscard]] const profile::LossCounts& losses() const { return losses_; }

 private:
  // Indices below are local to the run: 0 .. count_ - 1 are its slices, count_ is the run itself
  // (which stands for its kRun slice, if that was not dropped).
  [[nodiscard]] const Slice& At(uint32_t local) const { return profile_.slices[first_ + local]; }
  [[nodiscard]] Kind KindOf(uint32_t local) const { return profile_.tracks[At(local).track].kind; }
  [[nodiscard]] uint32_t RecordedParent(uint32_t local) const {
    const uint32_t parent = At(local).parent;
    if (parent == kNone || parent < first_ || parent - first_ >= count_) return kNone;
    return parent - first_ == run_slice_ ? count_ : parent - first_;
  }

  void FindRunSlice() {
    run_slice_ = kNone;
    run_track_ = kNone;
    for (uint32_t i = 0; i < count_; ++i) {
      const Category category = At(i).category;
      if (category == Category::kRun) {
        run_slice_ = i;
        run_track_ = At(i).track;
        return;
      }
      const bool by_the_run = category == Category::kMethod || category == Category::kSetInputs;
      if (run_track_ == kNone && by_the_run) run_track_ = At(i).track;
    }
  }

  // A host-wall slice is part of its parent only on the same track; one that lies on another
  // thread, or outside the run, has no parent.
  void FindParents(const Run& run) {
    parent_.assign(count_, kNone);
    for (uint32_t i = 0; i < count_; ++i) {
      if (i == run_slice_) continue;
      const Slice& slice = At(i);
      uint32_t parent = RecordedParent(i);
      if (KindOf(i) != Kind::kHostWall) {
        parent_[i] = parent == kNone ? count_ : parent;
        continue;
      }
      if (parent == kNone && slice.start_ns >= run.start_ns &&
          slice.start_ns + slice.dur_ns <= run.start_ns + run.dur_ns) {
        parent = count_;
      }
      if (parent == kNone) continue;
      const uint32_t track = parent == count_ ? run_track_ : At(parent).track;
      if (slice.track == track) parent_[i] = parent;
    }
  }

  // Rows of all slices; `order_` gets the slices with parents before children. Without recursion:
  // scopes may nest deeply.
  void FindRows(const Run& run) {
    row_.assign(count_ + 1, kNone);
    row_[count_] = root_;
    folded_.assign(count_, 0);
    order_.clear();
    occurrences_.clear();
    for (uint32_t i = 0; i < count_; ++i) {
      if (i == run_slice_) continue;
      chain_.clear();
      for (uint32_t k = i; k < count_ && row_[k] == kNone && chain_.size() <= count_;
           k = parent_[k]) {
        chain_.push_back(k);
      }
      for (; !chain_.empty(); chain_.pop_back()) {
        const uint32_t k = chain_.back();
        if (row_[k] != kNone) continue;  // a cycle in broken input
        row_[k] = RowOf(k, run);
        order_.push_back(k);
      }
    }
  }

  uint32_t RowOf(uint32_t local, const Run& run) {
    const Slice& slice = At(local);
    const uint32_t parent = parent_[local];
    const Kind kind = KindOf(local);
    if (slice.category == Category::kMethod && parent == count_ && kind == Kind::kHostWall) {
      folded_[local] = 1;
      return root_;
    }
    RowKey key;
    key.parent = parent == kNone ? kNone : row_[parent];
    key.name = slice.name;
    key.type = TypeOf(slice.category);
    key.kind = kind;
    if (slice.args != kNone) key.instruction = profile_.args[slice.args].instruction;
    int64_t order = slice.start_ns - run.start_ns;
    if (slice.category == Category::kDelegateOp) {
      if (slice.name == 0 && slice.args != kNone) {
        key.name = profile_.args[slice.args].delegate_debug_name;
      }
      key.instruction = -1;
      key.occurrence = occurrences_[uint64_t{parent} << 32 | key.name]++;
      order = kOrderEngine + local;
    }
    return rows_.Find(key, order);
  }

  void AddTimes(const Run& run) {
    inside_ns_.assign(count_ + 1, 0);
    inside_events_.assign(count_ + 1, 0);
    border_events_.assign(count_ + 1, 0);
    for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
      const uint32_t parent = parent_[*i];
      if (At(*i).dur_ns < 0) losses_.Add(Loss::kEndBeforeStart);
      if (parent == kNone) continue;
      if (KindOf(*i) == Kind::kHostWall) inside_ns_[parent] += Duration(*i);
      inside_events_[parent] += inside_events_[*i] + 1;
      ++border_events_[parent];
    }
    int64_t between_ns = 0;
    uint64_t between_events = 0;
    bool has_method = false;
    for (const uint32_t i : order_) {
      const int64_t self_ns = Duration(i) - inside_ns_[i];
      if (folded_[i] != 0) {
        has_method = true;
        between_ns += self_ns;
        between_events += border_events_[i] + 1;
        continue;
      }
      AddToRow(row_[i], Duration(i), KindOf(i) == Kind::kHostWall ? self_ns : 0,
               inside_events_[i] + 1);
    }
    if (has_method) {
      const uint32_t between =
          rows_.Find({.parent = root_, .type = RowType::kBetween}, kOrderBetween);
      AddToRow(between, between_ns, between_ns, between_events);
    }
    const int64_t rest_ns = run.dur_ns - inside_ns_[count_];
    AddToRow(unattributed_, rest_ns, rest_ns, border_events_[count_] + 1);
    AddToRow(root_, run.dur_ns, 0, inside_events_[count_] + 1);
  }

  [[nodiscard]] int64_t Duration(uint32_t local) const {
    return std::max<int64_t>(At(local).dur_ns, 0);
  }

  void AddToRow(uint32_t index, int64_t dur_ns, int64_t self_ns, uint64_t events) {
    Row& row = rows_.at(index);
    row.Add(static_cast<uint32_t>(runs_), dur_ns);
    row.self_ns += self_ns;
    row.events += events;
    ++row.calls;
    if (self_ns < 0) losses_.Add(Loss::kChildrenExceedParent);
  }

  // The user's scopes that enclose the run are rows beside it, each scope counted once, also when
  // several runs lie in it.
  void AddScopesAround(const Run& run) {
    if (run_slice_ == kNone) return;
    for (uint32_t i = At(run_slice_).parent; i < profile_.slices.size();
         i = profile_.slices[i].parent) {
      if (i >= first_ && i - first_ < count_) continue;  // has its row already
      if (!around_.insert(i).second) return;             // and so has all that is around it
      const Slice& slice = profile_.slices[i];
      const RowKey key{.name = slice.name, .type = TypeOf(slice.category)};
      const int64_t dur_ns = std::max<int64_t>(slice.dur_ns, 0);
      AddToRow(rows_.Find(key, slice.start_ns - run.start_ns), dur_ns, dur_ns, 1);
    }
  }

  const Profile& profile_;
  RowTable rows_;
  uint32_t root_ = 0;
  uint32_t unattributed_ = 0;
  uint64_t runs_ = 0;
  std::unordered_set<uint32_t> around_;
  profile::LossCounts losses_;

  // Of the current run.
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint32_t run_slice_ = kNone;
  uint32_t run_track_ = kNone;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> row_;
  std::vector<uint8_t> folded_;  // the engine's own slice of the whole call: part of the root
  std::vector<uint32_t> order_;
  std::vector<uint32_t> chain_;
  std::vector<int64_t> inside_ns_;
  std::vector<uint64_t> inside_events_;
  std::vector<uint64_t> border_events_;  // directly inside: their cost falls on both sides
  std::unordered_map<uint64_t, uint32_t> occurrences_;
};

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
    table.unattributed_ns =
        static_cast<double>(builder_.rows().at(builder_.unattributed()).total_ns) / runs;
    for (size_t i = 0; i < table.ops.size(); ++i) {
      if (table.ops[i].type == RowType::kDelegateCall) AddDelegate(table, order, i);
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
    op.total_ns = row.total_ns;
    op.self_ns = row.self_ns;
    op.share = whole_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(whole_ns) : 0;
    if (op.kind == Kind::kHostWall) {
      op.probe_cost_ns = static_cast<double>(row.events) / runs * options_.probe_cost_ns;
    } else {
      op.probe_cost_ns = {Status::kNotMeasured, "its cost is inside the call's row"};
    }
    op.mean_ns = static_cast<double>(row.total_ns) / runs;
    op.p50_ns = builder_.runs() >= 2
                    ? Metric<double>(row.MedianPerRun(builder_.runs()))
                    : Metric<double>(Status::kTooFewSamples, "needs 2 profiled runs, has 1");
    if (op.kind == Kind::kHostWall) RefuseBelow(op, kTicksToResolve * profile_.clock.tick_ns);
    op.module_path = {Status::kNoMap, "the program carries no map from instructions to modules"};
    return op;
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
    const std::string name(profile_.strings.Get(row.key.name));
    switch (op.type) {
      case RowType::kMethod:
        if (op.parent != kNone || op.id != 0) return name;
        if (!options_.root_name.empty()) return options_.root_name;
        return model_.method.empty() ? "run" : model_.method;
      case RowType::kSetInputs:
        return "set inputs";
      case RowType::kBetween:
        return "between instructions";
      case RowType::kUnattributed:
        return "unattributed";
      case RowType::kDelegateCall:
        if (!op.delegate) return name;
        return fmt::format("{} #{}", model_.delegates[*op.delegate].backend, *op.delegate);
      case RowType::kOperatorCall: {
        const auto at = static_cast<size_t>(instruction);
        if (instruction >= 0 && at < model_.instruction_names.size() &&
            !model_.instruction_names[at].empty()) {
          return model_.instruction_names[at];
        }
        return name;
      }
      case RowType::kDelegateOp: {
        const std::string shown = name.empty() ? "(unnamed)" : name;
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
                                     "the delegate reports no operators of its own"};
      result.layer_coverage = missing;
      result.resolution_ns = missing;
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
