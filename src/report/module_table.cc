#include "report/module_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/largest.h"
#include "report/lines.h"
#include "report/module_forest.h"
#include "report/row_cells.h"

namespace inferprobe::report {
namespace {

using profile::Metric;
using profile::ModuleOperator;
using profile::ModuleReport;
using profile::ModuleRow;

constexpr double kSmallShare = 0.005;
constexpr size_t kMostSiblings = 20;
constexpr size_t kMostNotes = 8;
constexpr size_t kMostNames = 5;  // in one of them
constexpr size_t kMostOutside = 3;
constexpr size_t kWidestName = 120;
constexpr size_t kWidestClass = 40;
// A hostile file nests as deep as it is long.
constexpr uint32_t kDeepestShown = 24;
constexpr uint32_t kDeepestFolded = 10;

Cell NoCell() { return Cell::Drawn(""); }

Cell TimeCell(const Metric<int64_t>& ns) {
  return ns ? Cell::Duration(static_cast<double>(*ns)) : Cell::Missing(ns.missing());
}

Cell BytesCell(const Metric<int64_t>& bytes) {
  return bytes ? Cell::Drawn(base::FormatBytes(static_cast<double>(*bytes)))
               : Cell::Missing(bytes.missing());
}

std::string CountText(uint64_t count) { return base::FormatCount(static_cast<double>(count)); }

// Which figures the table has columns for.
struct Shown {
  bool operators;
  bool device = false;
  bool memory = false;
  bool device_memory = false;

  explicit Shown(const ModuleReport& report) : operators(report.facts.operators.has_value()) {
    for (const ModuleRow& row : report.rows) {
      operators = operators || (row.operators_ns && *row.operators_ns != 0);
      LookAt(row);
      memory = memory || row.allocated_bytes || row.freed_bytes;
      for (const ModuleOperator& op : row.operators) LookAt(op);
    }
  }

 private:
  template <typename Row>
  void LookAt(const Row& row) {
    device = device || row.self_device_ns || row.total_device_ns;
    memory = memory || row.self_cpu_bytes || row.total_cpu_bytes;
    device_memory = device_memory || row.self_device_bytes || row.total_device_bytes;
  }
};

// The tree of modules as lines of a table.
class Tree {
 public:
  Tree(const profile::PerfResult& result, const ModuleTextOptions& options)
      : report_(*result.modules),
        options_(options),
        calls_dropped_(result.losses.AnyEventDropped()),
        shown_(report_),
        forest_(report_.rows) {}

  std::string Render() {
    std::vector<Column> columns = {{.title = "module", .widest = kWidestName},
                                   {.title = "class", .widest = kWidestClass},
                                   {"calls", Align::kRight},
                                   {"self", Align::kRight}};
    if (shown_.operators) columns.push_back({"operators", Align::kRight});
    columns.push_back({"total", Align::kRight});
    columns.push_back({"share", Align::kRight});
    if (shown_.device) {
      columns.push_back({"device self", Align::kRight});
      columns.push_back({"device total", Align::kRight});
    }
    if (shown_.memory) {
      for (const char* title : {"memory self", "memory total", "allocated", "freed"}) {
        columns.push_back({title, Align::kRight});
      }
    }
    if (shown_.device_memory) {
      columns.push_back({"device memory self", Align::kRight});
      columns.push_back({"device memory total", Align::kRight});
    }
    columns.push_back({"parameters", Align::kRight});
    columns_ = columns.size();
    Table table(std::move(columns));
    for (const uint32_t top : forest_.tops()) {
      AddModule(table, top, "");
      AddInside(table, top, "", 1);
    }
    for (const ModuleForest::Again& again : forest_.loose()) AddAgain(table, again, "");
    return table.Render(Format::kTable, 2);
  }

 private:
  void AddLine(Table& table, std::string text) {
    std::vector<Cell> cells(columns_, NoCell());
    cells[0] = Cell::Drawn(std::move(text));
    table.AddRow(std::move(cells));
  }

  [[nodiscard]] Cell CallsCell(const ModuleRow& row) const {
    if (row.calls == 0) {
      if (!row.facts.not_covered.empty()) return Cell::Drawn("not covered");
      if (!row.facts.chosen) return Cell::Drawn("");
      return Cell::Drawn(calls_dropped_ ? "not recorded" : "not called");
    }
    std::string text = CountText(row.calls);
    if (row.outermost_calls != row.calls) {
      text += fmt::format(" ({} outermost)", CountText(row.outermost_calls));
    }
    if (row.raised != 0) text += fmt::format(" ({} raised)", CountText(row.raised));
    return Cell::Drawn(std::move(text));
  }

  template <typename Row>
  void AddDeviceAndMemory(std::vector<Cell>& cells, const Row& row, Cell allocated, Cell freed) {
    if (shown_.device) {
      cells.push_back(TimeCell(row.self_device_ns));
      cells.push_back(TimeCell(row.total_device_ns));
    }
    if (shown_.memory) {
      cells.push_back(BytesCell(row.self_cpu_bytes));
      cells.push_back(BytesCell(row.total_cpu_bytes));
      cells.push_back(std::move(allocated));
      cells.push_back(std::move(freed));
    }
    if (shown_.device_memory) {
      cells.push_back(BytesCell(row.self_device_bytes));
      cells.push_back(BytesCell(row.total_device_bytes));
    }
  }

  void AddModule(Table& table, uint32_t at, const std::string& branch) {
    const ModuleRow& row = report_.rows[at];
    const bool is_top = row.depth == 0 && row.facts.path.empty();
    const std::string name = is_top ? row.facts.class_name : std::string(forest_.NameOf(at));
    std::vector<Cell> cells = {Cell::Drawn(branch + NameText(name)),
                               Cell::Drawn(is_top ? "" : base::TerminalText(row.facts.class_name)),
                               CallsCell(row)};
    const size_t with_figures = columns_ - 1;
    if (row.calls == 0) {
      cells.resize(with_figures, NoCell());
    } else {
      cells.push_back(TimeCell(row.self_ns));
      if (shown_.operators) cells.push_back(TimeCell(row.operators_ns));
      cells.push_back(TimeCell(row.total_ns));
      cells.push_back(Cell::Percent(row.share));
      AddDeviceAndMemory(cells, row, BytesCell(row.allocated_bytes), BytesCell(row.freed_bytes));
    }
    cells.push_back(Cell::Drawn(row.facts.parameters == 0 ? "" : CountText(row.facts.parameters)));
    table.AddRow(std::move(cells));
  }

  void AddAgain(Table& table, const ModuleForest::Again& again, const std::string& branch) {
    const ModuleRow& row = report_.rows[again.row];
    const std::string at = row.facts.path.empty() ? row.facts.class_name : row.facts.path;
    AddLine(table, fmt::format("{}{} is {} again", branch, NameText(again.name), NameText(at)));
  }

  void AddOperator(Table& table, const ModuleOperator& op, const std::string& branch) {
    std::vector<Cell> cells = {Cell::Drawn(branch + NameText(op.name)), NoCell(),
                               Cell::Drawn(CountText(op.calls)),
                               Cell::Duration(static_cast<double>(op.self_ns))};
    if (shown_.operators) cells.push_back(NoCell());
    cells.push_back(Cell::Duration(static_cast<double>(op.total_ns)));
    cells.push_back(NoCell());
    AddDeviceAndMemory(cells, op, NoCell(), NoCell());
    cells.push_back(NoCell());
    table.AddRow(std::move(cells));
  }

  [[nodiscard]] bool IsSmall(uint32_t at) const {
    return static_cast<double>(forest_.WeightOf(at)) <
           kSmallShare * static_cast<double>(report_.total_ns);
  }

  // Which modules inside this one are shown; the others are one line.
  [[nodiscard]] std::vector<uint32_t> Kept(const std::vector<uint32_t>& inside) const {
    if (!options_.fold) return inside;
    std::vector<uint32_t> kept;
    std::copy_if(inside.begin(), inside.end(), std::back_inserter(kept),
                 [&](uint32_t at) { return forest_.WeightOf(at) != 0 && !IsSmall(at); });
    KeepLargest(kept, kMostSiblings, [&](uint32_t at) { return forest_.WeightOf(at); });
    // A line about one module is no shorter than its own.
    return inside.size() - kept.size() == 1 ? inside : kept;
  }

  void AddInside(Table& table, uint32_t outer, const std::string& lead, uint32_t depth) {
    static const std::vector<ModuleOperator> kNoOperators;
    const std::vector<ModuleOperator>& operators =
        options_.show_events ? report_.rows[outer].operators : kNoOperators;
    const std::vector<uint32_t>& inside = forest_.Inside(outer);
    const std::vector<ModuleForest::Again>& again = forest_.AgainInside(outer);
    if (depth > (options_.fold ? kDeepestFolded : kDeepestShown) && !inside.empty()) {
      AddLine(table,
              fmt::format("{}└── … {} and what is below", lead, Counted(inside.size(), "module")));
      return;
    }
    const std::vector<uint32_t> kept = Kept(inside);
    const size_t folded = inside.size() - kept.size();
    size_t left = operators.size() + kept.size() + again.size() + (folded != 0 ? 1 : 0);
    const auto branch = [&] { return lead + (--left == 0 ? "└── " : "├── "); };
    for (const ModuleOperator& op : operators) AddOperator(table, op, branch());
    for (const uint32_t at : kept) {
      AddModule(table, at, branch());
      AddInside(table, at, lead + (left == 0 ? "    " : "│   "), depth + 1);
    }
    for (const ModuleForest::Again& each : again) AddAgain(table, each, branch());
    if (folded != 0) AddLine(table, fmt::format("{}… {} smaller: --all", branch(), folded));
  }

  const ModuleReport& report_;
  const ModuleTextOptions& options_;
  const bool calls_dropped_;  // one without a call may have been called
  Shown shown_;
  ModuleForest forest_;
  size_t columns_ = 0;
};

std::string Heading(const profile::PerfResult& result, const Shown& shown) {
  std::string text = "modules (host wall";
  if (result.profiled_runs != 0) {
    text += fmt::format(", sum of {}", Counted(result.profiled_runs, "profiled run"));
  }
  text += shown.operators ? "; total = self + operators + modules inside"
                          : "; total = self + modules inside";
  if (shown.device) text += "; device: the device's own time";
  if (shown.memory) text += "; memory: allocated - freed";
  return text + ")\n";
}

std::string OutsideText(const ModuleReport& report, bool all) {
  if (report.outside.empty() && report.outside_ns == 0) return "";
  std::string text = fmt::format("  in no module: {} of operators",
                                 base::FormatDurationNs(static_cast<double>(report.outside_ns)));
  std::vector<ModuleOperator> shown = report.outside;
  if (!all) KeepLargest(shown, kMostOutside, [](const ModuleOperator& op) { return op.self_ns; });
  for (size_t i = 0; i < shown.size(); ++i) {
    const ModuleOperator& op = shown[i];
    text += fmt::format("{}{} {} in {}", i == 0 ? ": " : ", ", NameText(op.name),
                        base::FormatDurationNs(static_cast<double>(op.self_ns)),
                        Counted(op.calls, "call"));
  }
  if (shown.size() < report.outside.size()) {
    text += fmt::format(", … {} more", report.outside.size() - shown.size());
  }
  return text + "\n";
}

std::string NotCoveredText(const ModuleReport& report, bool fold) {
  // What has one reason is one line, where it first stood.
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> reasons;
  std::unordered_map<std::string_view, size_t> place;
  const auto add = [&](std::string_view what, std::string_view why) {
    const auto [at, fresh] = place.try_emplace(why, reasons.size());
    if (fresh) reasons.push_back({why, {}});
    reasons[at->second].second.push_back(what);
  };
  for (const ModuleRow& row : report.rows) {
    if (row.facts.not_covered.empty()) continue;
    add(row.facts.path.empty() ? row.facts.class_name : row.facts.path, row.facts.not_covered);
  }
  for (const profile::NotCovered& each : report.facts.not_covered) add(each.what, each.why);
  const size_t most = fold && reasons.size() > kMostNotes + 1 ? kMostNotes : reasons.size();
  std::string text;
  for (size_t i = 0; i < most; ++i) {
    const auto& [why, names] = reasons[i];
    const size_t named = names.size() > kMostNames + 1 ? kMostNames : names.size();
    text += "  not covered: ";
    for (size_t name = 0; name < named; ++name) {
      text += (name == 0 ? "" : ", ") + NameText(names[name]);
    }
    if (named < names.size()) text += fmt::format(" and {} more", names.size() - named);
    text += fmt::format(": {}\n", base::TerminalText(why));
  }
  return text + MoreText(reasons.size() - most);
}

std::string Notes(const ModuleReport& report, const ModuleTextOptions& options) {
  std::string text = OutsideText(report, options.show_events);
  if (report.facts.operators && report.facts.clock_error_ns) {
    text += fmt::format("  times of operators may be off by {} against those of modules\n",
                        base::FormatDurationNs(*report.facts.clock_error_ns));
  } else if (report.facts.operators) {
    text += fmt::format("  how far times of operators may be off against those of modules: {}\n",
                        MissingText(report.facts.clock_error_ns.missing()));
  }
  text += NotCoveredText(report, options.fold);
  const auto add = [&](const char* what, const Metric<bool>& recorded) {
    if (!recorded) text += fmt::format("  {}: {}\n", what, MissingText(recorded.missing()));
  };
  add("operators", report.facts.operators);
  add("memory", report.facts.memory);
  add("device", report.facts.device);
  return text;
}

}  // namespace

Table ModuleTable(const profile::PerfResult& result) {
  static const ModuleReport kNoModules;
  const ModuleReport& report = result.modules ? *result.modules : kNoModules;
  const Shown shown(report);
  std::vector<Column> columns = {{"id", Align::kRight},
                                 {"parent", Align::kRight, "parent_id"},
                                 {"path"},
                                 {"class"},
                                 {"calls", Align::kRight},
                                 {"outermost", Align::kRight, "outermost_calls"},
                                 {"raised", Align::kRight},
                                 {"self", Align::kRight, "self_cpu_ns"},
                                 {"operators", Align::kRight, "operators_cpu_ns"},
                                 {"inside", Align::kRight, "children_cpu_ns"},
                                 {"total", Align::kRight, "total_cpu_ns"},
                                 {"share", Align::kRight}};
  const auto add = [&](const char* title, const char* key) {
    columns.push_back({title, Align::kRight, key});
  };
  if (shown.device) {
    add("device self", "self_device_ns");
    add("device total", "total_device_ns");
  }
  if (shown.memory) {
    add("memory self", "self_cpu_bytes");
    add("memory total", "total_cpu_bytes");
    add("allocated", "allocated_bytes");
    add("freed", "freed_bytes");
  }
  if (shown.device_memory) {
    add("device memory self", "self_device_bytes");
    add("device memory total", "total_device_bytes");
  }
  add("parameters", "parameters");
  Table table(std::move(columns));
  std::unordered_set<uint32_t> there;
  for (const ModuleRow& row : report.rows) there.insert(row.module);
  for (const ModuleRow& row : report.rows) {
    const profile::Missing no_parent{profile::Status::kUnavailable, "at the top"};
    const bool at_top = there.count(row.facts.parent) == 0;
    std::vector<Cell> cells = {
        Cell::Int(int64_t{row.module}),
        at_top ? Cell::Missing(no_parent) : Cell::Int(int64_t{row.facts.parent}),
        Cell::Text(row.facts.path),
        Cell::Text(row.facts.class_name),
        Cell::Int(static_cast<int64_t>(row.calls)),
        Cell::Int(static_cast<int64_t>(row.outermost_calls)),
        Cell::Int(static_cast<int64_t>(row.raised)),
        TimeCell(row.self_ns),
        TimeCell(row.operators_ns),
        TimeCell(row.children_ns),
        TimeCell(row.total_ns),
        Cell::Percent(row.share)};
    if (shown.device) {
      cells.push_back(TimeCell(row.self_device_ns));
      cells.push_back(TimeCell(row.total_device_ns));
    }
    if (shown.memory) {
      cells.push_back(Cell::Int(row.self_cpu_bytes));
      cells.push_back(Cell::Int(row.total_cpu_bytes));
      cells.push_back(Cell::Int(row.allocated_bytes));
      cells.push_back(Cell::Int(row.freed_bytes));
    }
    if (shown.device_memory) {
      cells.push_back(Cell::Int(row.self_device_bytes));
      cells.push_back(Cell::Int(row.total_device_bytes));
    }
    cells.push_back(Cell::Int(static_cast<int64_t>(row.facts.parameters)));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string ModuleText(const profile::PerfResult& result, const ModuleTextOptions& options) {
  if (!result.modules) return "modules: " + MissingText(result.modules.missing()) + "\n";
  const ModuleReport& report = *result.modules;
  return Heading(result, Shown(report)) + Tree(result, options).Render() + Notes(report, options);
}

}  // namespace inferprobe::report
