#include "report/region_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/region_figures.h"
#include "report/region_summary.h"
#include "report/row_cells.h"

namespace inferprobe::report {
namespace {

using profile::Metric;
using profile::PerfResult;
using profile::RegionOperator;
using profile::RegionReport;
using profile::RegionRow;
using profile::Status;

constexpr size_t kMostRows = 8;
constexpr size_t kMostOperators = 8;
constexpr size_t kShortestName = 8;  // columns that are left of a name in any line

// For sorting, where a figure that is none would be neither more nor less than another.
double OrLeast(const Metric<double>& figure) { return IsFinite(figure) ? *figure : -1.0; }

Cell TimeCell(const Metric<double>& ns) {
  return ns ? Cell::Duration(*ns) : Cell::Drawn("n/a");  // the result has the reason
}

class Section {
 public:
  Section(const PerfResult& result, const PerfTextOptions& options)
      : result_(result), options_(options), report_(*result.regions), names_(result) {
    for (const RegionRow& row : report_.rows) {
      any_idle_ = any_idle_ || row.idle_core_ns.has_value();
      any_serial_ = any_serial_ || row.serial_ns.has_value();
      for (const profile::RegionRank& rank : row.participants) {
        any_migration_ = any_migration_ || rank.migrations > 0;
        any_core_type_ = any_core_type_ || !rank.core_type.empty();
      }
    }
  }

  std::string Render() const {
    std::string out = RegionSummary(result_);
    out += Rows();
    out += Operators();
    for (const profile::NotObservable& hidden : report_.not_observable) {
      out += fmt::format("  not observable: {}, {} a run: {}\n", base::TerminalText(hidden.what),
                         base::FormatDurationNs(hidden.wall_ns), base::TerminalText(hidden.why));
    }
    return out;
  }

 private:
  // Only the names in front are cut where a line is too long.
  static std::string Fit(const std::string& name, const std::string& rest, size_t widest) {
    const size_t taken = base::DisplayWidth(rest);
    const size_t left = taken < widest ? widest - taken : 0;
    return base::CutToWidth(name, std::max(left, kShortestName)) + rest;
  }
  [[nodiscard]] std::string Shown(uint32_t op, size_t widest) const {
    return Fit(NameText(names_.Name(op)), names_.Instruction(op), widest);
  }

  [[nodiscard]] std::string Rows() const {
    if (report_.rows.empty()) return {};
    std::vector<const RegionRow*> by_idle;
    for (const RegionRow& row : report_.rows) by_idle.push_back(&row);
    if (!any_idle_) {
      return "\n  longest regions, a call (threads: asked / admitted / seen)\n" +
             RowTable(Sorted(by_idle, &RegionRow::wall_ns));
    }
    std::string out =
        "\n  worst regions by idle core-time, a call (threads: asked / admitted / seen)\n" +
        RowTable(by_idle);
    if (options_.all_rows) return out;
    // Those that have as much time on one thread, and are not in the table above.
    std::vector<const RegionRow*> by_serial = Sorted(by_idle, &RegionRow::serial_ns);
    const size_t shown = CountShown(by_idle.size());
    by_serial.resize(shown);
    by_idle.resize(shown);
    const std::unordered_set<const RegionRow*> above(by_idle.begin(), by_idle.end());
    std::erase_if(by_serial, [&](const RegionRow* row) { return above.contains(row); });
    if (by_serial.empty()) return out;
    return out + "\n  and with the most time on one thread\n" + RowTable(by_serial);
  }

  // What there is of a run, the most first.
  static std::vector<const RegionRow*> Sorted(std::vector<const RegionRow*> rows,
                                              Metric<double> RegionRow::* figure) {
    const auto size_of = [&](const RegionRow* row) {
      const double value = OrLeast(row->*figure);
      return value < 0 ? value : value * row->calls_per_run;
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const RegionRow* a, const RegionRow* b) {
      return size_of(a) > size_of(b);
    });
    return rows;
  }

  [[nodiscard]] size_t CountShown(size_t rows) const {
    return options_.all_rows || rows <= kMostRows + 1 ? rows : kMostRows;
  }

  [[nodiscard]] std::string RowTable(const std::vector<const RegionRow*>& rows) const {
    std::vector<Column> columns;
    if (any_idle_) columns.push_back({"idle", Align::kRight});
    columns.push_back({"wall", Align::kRight});
    if (any_serial_) columns.push_back({"serial", Align::kRight});
    columns.push_back({"threads"});
    if (any_idle_) columns.push_back({"imbalance", Align::kRight});
    if (any_migration_) columns.push_back({"migrations", Align::kRight});
    if (any_core_type_) columns.push_back({"cores"});
    columns.push_back({"where"});
    Table table(std::move(columns));
    const size_t shown = CountShown(rows.size());
    for (size_t i = 0; i < shown; ++i) AddRow(*rows[i], &table);
    return table.Render(Format::kTable, 2) + MoreText(rows.size() - shown);
  }

  void AddRow(const RegionRow& row, Table* table) const {
    std::vector<Cell> cells;
    if (any_idle_) cells.push_back(TimeCell(row.idle_core_ns));
    cells.push_back(TimeCell(row.wall_ns));
    if (any_serial_) cells.push_back(TimeCell(row.serial_ns));
    cells.push_back(
        Cell::Drawn(fmt::format("{} / {} / {}", MeanText(row.requested), MeanText(row.admitted),
                                row.observed ? MeanText(*row.observed) : "n/a")));
    if (any_idle_) {
      cells.push_back(
          Cell::Drawn(row.imbalance ? fmt::format("{:.2f}", *row.imbalance) : std::string("–")));
    }
    if (any_migration_) {
      double migrations = 0;
      for (const profile::RegionRank& rank : row.participants) migrations += rank.migrations;
      cells.push_back(Cell::Drawn("≥ " + MeanText(migrations)));
    }
    if (any_core_type_) {
      std::string types;
      for (const profile::RegionRank& rank : row.participants) {
        types += (types.empty() ? "" : " / ") + base::TerminalText(rank.core_type);
      }
      cells.push_back(Cell::Drawn(types.empty() ? "–" : types));
    }
    cells.push_back(Cell::Drawn(Where(row)));
    table->AddRow(std::move(cells));
  }

  [[nodiscard]] std::string Where(const RegionRow& row) const {
    const size_t widest = options_.width > 90 ? options_.width - 40 : 50;
    std::string text;
    const std::string of =
        report_.per_inference ? fmt::format(" of {}", *report_.per_inference) : "";
    if (row.nested_inline || row.parent) {
      text += row.parent ? fmt::format(", inside region {}{}", *row.parent, of) : ", nested";
    } else {
      text += fmt::format(", region {}{}", row.index, of);
    }
    if (row.calls_per_run != 1) text += fmt::format(", {} a run", MeanText(row.calls_per_run));
    if (row.op) text = " in " + Shown(*row.op, widest / 2) + text;
    return Fit(NameText(row.where), text, widest);
  }

  // None by a figure that most lack: half a table would look like a whole one.
  [[nodiscard]] std::string Operators() const {
    std::vector<const RegionOperator*> worst;
    const profile::Missing* no_figure = nullptr;
    bool any_figure = false;
    for (const RegionOperator& op : report_.operators) {
      any_figure = any_figure || op.efficiency;
      if (!op.efficiency) {
        const profile::Missing& why = op.efficiency.missing();
        if (why.status == Status::kUnsupported) continue;  // has a line of its own
        if (!no_figure || why.status == Status::kNotRequested) no_figure = &why;
      }
      worst.push_back(&op);
    }
    if (no_figure && (!any_figure || no_figure->status == Status::kNotRequested)) {
      return fmt::format("\n  operators by idle core-time: {}\n", MissingText(*no_figure));
    }
    if (worst.empty()) return {};
    std::stable_sort(worst.begin(), worst.end(),
                     [](const RegionOperator* a, const RegionOperator* b) {
                       return OrLeast(a->idle_core_ns) > OrLeast(b->idle_core_ns);
                     });
    const size_t all = worst.size();
    if (!options_.all_rows && all > kMostOperators + 1) worst.resize(kMostOperators);
    Table table({{"efficiency", Align::kRight},
                 {"idle", Align::kRight},
                 {"wall", Align::kRight},
                 {"serial", Align::kRight},
                 {"regions", Align::kRight},
                 {"what"}});
    for (const RegionOperator* op : worst) {
      table.AddRow({Cell::Drawn(op->efficiency ? PercentText(op->efficiency) : "n/a"),
                    TimeCell(op->idle_core_ns), TimeCell(op->wall_ns), TimeCell(op->serial_ns),
                    CallsCell(op->regions_per_run),
                    Cell::Drawn(Shown(op->op, options_.width > 90 ? options_.width - 45 : 45))});
    }
    return "\n  operators by idle core-time, a run (an upper bound, not a saving)\n" +
           table.Render(Format::kTable, 2) + MoreText(all - worst.size());
  }

  const PerfResult& result_;
  const PerfTextOptions& options_;
  const RegionReport& report_;
  OperatorNames names_;
  bool any_idle_ = false;
  bool any_serial_ = false;
  bool any_migration_ = false;
  bool any_core_type_ = false;
};

// Nobody asked, or nothing could be asked of this file.
bool IsQuiet(Status status) {
  return status == Status::kNotRequested || status == Status::kNotBuiltIn ||
         status == Status::kNotMeasured;
}

}  // namespace

std::string RegionTables(const PerfResult& result, const PerfTextOptions& options) {
  if (result.regions) return Section(result, options).Render();
  if (IsQuiet(result.regions.missing().status)) return {};
  return "\nthreads " + MissingText(result.regions.missing()) + "\n";
}

}  // namespace inferprobe::report
