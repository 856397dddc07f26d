#include "report/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/largest.h"
#include "report/row_cells.h"

namespace inferprobe::report {
namespace {

using profile::Kind;
using profile::kNone;
using profile::OpRow;
using profile::RowType;

constexpr double kSmallShare = 0.005;
constexpr size_t kMostSiblings = 20;
constexpr uint32_t kDeepestShown = 32;  // a hostile recording nests as deep as it is long
constexpr double kCostlyProbe = 0.2;
constexpr double kKernelIsAll = 0.8;
constexpr const char* kCostlyMark = "!";

bool IsRest(const OpRow& row) {
  return row.type == RowType::kBetween || row.type == RowType::kUnattributed;
}

bool CostlyProbe(const OpRow& row) {
  return row.mean_ns && *row.mean_ns > 0 && row.probe_cost_ns &&
         *row.probe_cost_ns > kCostlyProbe * *row.mean_ns;
}

bool IsSmall(const OpRow& row) { return row.share && *row.share < kSmallShare; }

// The tree of host-wall rows, and what of it is shown.
class Tree {
 public:
  Tree(const profile::PerfResult& result, const PerfTextOptions& options)
      : result_(result), options_(options), children_(result.ops.size()) {
    for (uint32_t i = 0; i < result.ops.size(); ++i) {
      const OpRow& row = result.ops[i];
      if (row.kind != Kind::kHostWall) continue;
      if (row.parent < children_.size()) {
        children_[row.parent].push_back(i);
      } else if (i != 0) {
        beside_.push_back(i);
      }
    }
    for (const profile::DelegateResult& delegate : result.delegates) {
      if (delegate.mode == profile::CallMode::kAsynchronous) asynchronous_.insert(delegate.op);
      if (delegate.whole_call < result.ops.size()) whole_calls_.insert(delegate.whole_call);
    }
    for (uint32_t i = 0; i < result.ops.size(); ++i) {
      if (result.ops[i].type == RowType::kOperatorCall) ++names_[NamedBy(i).name];
    }
  }

  std::string Render() {
    std::vector<Column> columns = {{"share", Align::kRight},
                                   {"mean", Align::kRight},
                                   {"p50", Align::kRight},
                                   {"calls", Align::kRight},
                                   {"what", Align::kLeft, "", WidthOfNames()}};
    // Of a file that does not tell it, there is no column either.
    const bool known = std::any_of(result_.ops.begin(), result_.ops.end(),
                                   [](const OpRow& row) { return row.probe_cost_ns.has_value(); });
    if (known) columns.push_back({"probe cost", Align::kRight});
    Table table(std::move(columns));
    AddRow(table, 0, "");
    AddChildren(table, 0, "");
    std::string out = table.Render(Format::kTable, 2);
    if (const profile::Metric<double>& whole = result_.ops[0].mean_ns;
        !whole && whole.missing().status == profile::Status::kUnavailable) {
      out += fmt::format("  n/a: {}\n", base::TerminalText(whole.missing().hint));
    }
    if (costly_) {
      out += fmt::format("  {} recording costs more than {:.0f} % of this row\n", kCostlyMark,
                         kCostlyProbe * 100);
    }
    if (hidden_kernels_ != 0) {
      out += hidden_kernels_ == 1
                 ? "  1 kernel row is hidden, nearly all of its operator call: --all\n"
                 : fmt::format(
                       "  {} kernel rows are hidden, each nearly all of its operator call: "
                       "--all\n",
                       hidden_kernels_);
    }
    if (any_asynchronous_) {
      out += "  * calls return while work is in flight: host-visible time only\n";
    }
    return out + RenderBeside();
  }

 private:
  [[nodiscard]] size_t WidthOfNames() const {
    constexpr size_t kOtherColumns = 52;
    return options_.width > kOtherColumns + 30 ? options_.width - kOtherColumns : 30;
  }

  void AddRow(Table& table, uint32_t index, const std::string& branch) {
    const OpRow& row = result_.ops[index];
    const bool costly = CostlyProbe(row);
    costly_ = costly_ || costly;
    Cell probe = Cell::Drawn("");
    if (row.mean_ns && *row.mean_ns > 0 && row.probe_cost_ns && *row.probe_cost_ns > 0) {
      probe = Cell::Drawn(base::FormatPercent(*row.probe_cost_ns / *row.mean_ns) +
                          (costly ? " !" : "  "));
    }
    const char* prefix = row.type == RowType::kDelegateCall ? "delegate " : "";
    const OpRow& named = NamedBy(index);
    // Operators of one name are told apart by their instruction.
    std::string name = NameText(named.name);
    if (row.type == RowType::kOperatorCall && row.instruction && names_[named.name] > 1) {
      name += fmt::format(" [{}]", *row.instruction);
    }
    if (asynchronous_.count(index) != 0) {
      name += " *";
      any_asynchronous_ = true;
    }
    table.AddRow({Cell::Percent(row.share), Cell::Duration(row.mean_ns), Cell::Duration(row.p50_ns),
                  IsRest(row) ? Cell::Drawn("") : CallsCell(row.calls_per_run),
                  Cell::Drawn(branch + prefix + name), std::move(probe)});
  }

  // The kernel of an operator call is nearly all of it: one line says both.
  [[nodiscard]] bool HidesKernel(uint32_t parent) const {
    return IsNearlyAll(parent) && result_.ops[children_[parent][0]].type == RowType::kKernel;
  }

  // So is the delegate's own event of the whole call; and what is in that has tables of its own.
  [[nodiscard]] bool HidesWholeCall(uint32_t parent) const {
    if (!options_.all_rows && whole_calls_.count(parent) != 0) return true;
    return IsNearlyAll(parent) && whole_calls_.count(children_[parent][0]) != 0;
  }

  [[nodiscard]] bool IsNearlyAll(uint32_t parent) const {
    if (options_.all_rows || children_[parent].size() != 1) return false;
    const OpRow& child = result_.ops[children_[parent][0]];
    return static_cast<double>(child.total_ns) >=
           kKernelIsAll * static_cast<double>(result_.ops[parent].total_ns);
  }

  // A program without operator names calls each of its instructions OPERATOR_CALL; then the kernel
  // that is nearly all of it says more.
  [[nodiscard]] const OpRow& NamedBy(uint32_t index) const {
    const OpRow& row = result_.ops[index];
    const bool generic = row.name == "OPERATOR_CALL" || row.name.empty();
    return generic && HidesKernel(index) ? result_.ops[children_[index][0]] : row;
  }

  // Which of the children are shown; the others are folded into one line.
  [[nodiscard]] std::unordered_set<uint32_t> Shown(const std::vector<uint32_t>& children) const {
    std::vector<uint32_t> by_time;
    for (const uint32_t child : children) {
      if (!IsRest(result_.ops[child])) by_time.push_back(child);
    }
    std::stable_sort(by_time.begin(), by_time.end(), [&](uint32_t a, uint32_t b) {
      return result_.ops[a].total_ns > result_.ops[b].total_ns;
    });
    size_t kept = by_time.size();
    if (!options_.all_rows) {
      kept = std::min(kept, kMostSiblings);
      while (kept > 0 && IsSmall(result_.ops[by_time[kept - 1]])) --kept;
      if (by_time.size() - kept == 1) ++kept;  // a line about one row is no shorter
    }
    return {by_time.begin(), by_time.begin() + static_cast<std::ptrdiff_t>(kept)};
  }

  void AddChildren(Table& table, uint32_t parent, const std::string& lead) {
    if (HidesKernel(parent)) {
      ++hidden_kernels_;
      return;
    }
    if (HidesWholeCall(parent)) return;
    const std::vector<uint32_t>& children = children_[parent];
    const std::unordered_set<uint32_t> shown = Shown(children);
    std::vector<uint32_t> lines;
    std::vector<uint32_t> rest;
    size_t folded = 0;
    double folded_share = 0;
    for (const uint32_t child : children) {
      if (IsRest(result_.ops[child])) {
        rest.push_back(child);
      } else if (shown.count(child) != 0) {
        lines.push_back(child);
      } else {
        ++folded;
        folded_share += result_.ops[child].share ? *result_.ops[child].share : 0;
      }
    }
    if (!lines.empty() && result_.ops[lines.front()].depth >= kDeepestShown) {
      table.AddRow({Cell::Drawn(""), Cell::Drawn(""), Cell::Drawn(""), Cell::Drawn(""),
                    Cell::Drawn(fmt::format("{}└─ … {} rows and what is below them", lead,
                                            lines.size() + folded)),
                    Cell::Drawn("")});
      return;
    }
    const auto add = [&](uint32_t child, bool last) {
      AddRow(table, child, lead + (last ? "└─ " : "├─ "));
      AddChildren(table, child, lead + (last ? "   " : "│  "));
    };
    for (size_t i = 0; i < lines.size(); ++i) {
      add(lines[i], i + 1 == lines.size() && folded == 0 && rest.empty());
    }
    if (folded != 0) {
      table.AddRow({result_.ops[0].share ? Cell::Percent(folded_share) : Cell::Drawn(""),
                    Cell::Drawn(""), Cell::Drawn(""), Cell::Drawn(""),
                    Cell::Drawn(fmt::format("{}… {} smaller rows: --all",
                                            lead + (rest.empty() ? "└─ " : "├─ "), folded)),
                    Cell::Drawn("")});
    }
    for (size_t i = 0; i < rest.size(); ++i) add(rest[i], i + 1 == rest.size());
  }

  std::string RenderBeside() {
    if (beside_.empty()) return {};
    Table table({{"mean", Align::kRight}, {"calls", Align::kRight}, {"what"}});
    std::vector<uint32_t> shown = beside_;
    if (!options_.all_rows) {
      KeepLargest(shown, kMostSiblings, [&](uint32_t row) { return result_.ops[row].total_ns; });
    }
    for (const uint32_t index : shown) {
      const OpRow& row = result_.ops[index];
      table.AddRow({Cell::Duration(row.mean_ns), CallsCell(row.calls_per_run),
                    Cell::Drawn(NameText(row.name))});
    }
    return "\naround the runs and on other threads (host wall, per run; not part of the sum)\n" +
           table.Render(Format::kTable, 2) + MoreText(beside_.size() - shown.size());
  }

  const profile::PerfResult& result_;
  const PerfTextOptions& options_;
  std::unordered_map<std::string, uint32_t> names_;  // operator calls by the name shown
  std::vector<std::vector<uint32_t>> children_;
  std::vector<uint32_t> beside_;
  std::unordered_set<uint32_t> asynchronous_;  // delegate calls
  std::unordered_set<uint32_t> whole_calls_;   // of delegates, by their own events
  size_t hidden_kernels_ = 0;
  bool any_asynchronous_ = false;
  bool costly_ = false;
};

// `ticks`: the table has a column of them.
void AddToTable(Table& table, const OpRow& row, bool ticks) {
  std::vector<Cell> cells = {
      Cell::Int(row.id),
      row.parent == kNone ? Cell::Missing({profile::Status::kUnavailable, "at the top"})
                          : Cell::Int(int64_t{row.parent}),
      Cell::Text(profile::RowTypeName(row.type)),
      Cell::Text(profile::KindName(row.kind)),
      Cell::Text(row.name),
      Cell::Int(row.instruction),
      Cell::Number(row.calls_per_run),
      row.in_ticks ? Cell::Missing({profile::Status::kUnavailable, "in ticks"})
                   : Cell::Duration(static_cast<double>(row.total_ns)),
      Cell::Duration(row.mean_ns),
      Cell::Duration(row.p50_ns),
      Cell::Percent(row.share),
      Cell::Duration(row.probe_cost_ns)};
  if (ticks) {
    cells.push_back(row.in_ticks ? Cell::Plain(row.total_ticks)
                                 : Cell::Missing({profile::Status::kUnavailable, "in ns"}));
  }
  table.AddRow(std::move(cells));
}

}  // namespace

Table OpTable(const profile::PerfResult& result) {
  std::vector<Column> columns = {{"id", Align::kRight},
                                 {"parent", Align::kRight},
                                 {"type"},
                                 {"kind"},
                                 {"name"},
                                 {"instruction", Align::kRight},
                                 {"calls", Align::kRight, "calls_per_run"},
                                 {"total", Align::kRight, "total_ns"},
                                 {"mean", Align::kRight, "mean_ns"},
                                 {"p50", Align::kRight, "p50_ns"},
                                 {"share", Align::kRight},
                                 {"probe cost", Align::kRight, "probe_cost_ns"}};
  const bool ticks = std::any_of(result.ops.begin(), result.ops.end(),
                                 [](const OpRow& row) { return row.in_ticks; });
  if (ticks) columns.push_back({"total ticks", Align::kRight, "total_ticks"});
  Table table(std::move(columns));
  for (const OpRow& row : result.ops) AddToTable(table, row, ticks);
  return table;
}

std::string OpTree(const profile::PerfResult& result, const PerfTextOptions& options) {
  if (result.ops.empty()) return "  n/a (not measured: no profiled run)\n";
  return Tree(result, options).Render();
}

}  // namespace inferprobe::report
