#include "report/region_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/lines.h"
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
constexpr size_t kMostSentences = 3;
constexpr size_t kShortestName = 8;   // columns that are left of a name in any line
constexpr double kLargePart = 0.1;    // of the run, to be worth a sentence
constexpr double kNearlyAll = 0.8;    // of an operator's wall time on one thread
constexpr double kWholeNumber = 1e9;  // below it a mean is printed with what it needs

// A file may hold figures that are none.
bool IsFinite(const Metric<double>& figure) { return figure && std::isfinite(*figure); }

// For sorting, where a figure that is none would be neither more nor less than another.
double OrLeast(const Metric<double>& figure) { return IsFinite(figure) ? *figure : -1.0; }

std::string Time(const Metric<double>& ns) {
  if (ns && !IsFinite(ns)) return "n/a (not finite)";
  return ns ? base::FormatDurationNs(*ns) : MissingText(ns.missing().status);
}

std::string Percent(const Metric<double>& ratio) {
  if (ratio && !IsFinite(ratio)) return "n/a (not finite)";
  return ratio ? fmt::format("{:.0f} %", *ratio * 100) : MissingText(ratio.missing().status);
}

// "2", "1.5"; machines and people alike.
std::string Mean(double value) {
  return std::fabs(value) < kWholeNumber ? fmt::format("{:.3g}", value) : base::FormatCount(value);
}

Cell TimeCell(const Metric<double>& ns) {
  return ns ? Cell::Duration(*ns) : Cell::Drawn("n/a");  // the result has the reason
}

std::string OpName(const PerfResult& result, uint32_t op) {
  return op < result.ops.size() ? NameText(result.ops[op].name) : std::string("(unknown row)");
}

class Section {
 public:
  Section(const PerfResult& result, const PerfTextOptions& options)
      : result_(result), options_(options), report_(*result.regions) {
    for (const RegionOperator& op : report_.operators) {
      if (op.op < result.ops.size()) ++operators_[result.ops[op.op].name];
    }
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
    std::string out = Head();
    out += Sentences();
    out += Rows();
    out += Operators();
    for (const profile::NotObservable& hidden : report_.not_observable) {
      out += fmt::format("  not observable: {}, {} a run: {}\n", base::TerminalText(hidden.what),
                         base::FormatDurationNs(hidden.wall_ns), base::TerminalText(hidden.why));
    }
    return out;
  }

 private:
  [[nodiscard]] std::string Head() const {
    const std::string count =
        report_.per_inference
            ? Counted(static_cast<uint64_t>(std::max<int64_t>(*report_.per_inference, 0)),
                      "parallel region") +
                  " a run"
            : fmt::format("{} parallel regions a run; {}", Mean(report_.mean_per_inference),
                          base::TerminalText(report_.per_inference.missing().hint));
    std::string out = fmt::format("\nthreads ({}; host wall{})\n", count,
                                  report_.detail == "wall" ? "; --regions=busy sees who took part"
                                                           : ", busy per participant");
    const std::string threads =
        report_.threads
            ? Counted(static_cast<uint64_t>(std::max<int64_t>(*report_.threads, 0)), "thread")
            : "threads " + MissingText(report_.threads.missing().status);
    if (report_.efficiency) {
      out += fmt::format(
          "  efficiency {} of {} · {} of idle core-time a run (an upper bound, not "
          "a saving)\n",
          Percent(report_.efficiency), threads, Time(report_.idle_core_ns));
    } else {
      out +=
          fmt::format("  efficiency {} · {}\n", MissingText(report_.efficiency.missing()), threads);
    }
    if (report_.serial_ns) {
      out += fmt::format("  {} of the run is serial: {} · with that its efficiency is {}\n",
                         Percent(report_.serial_share), Time(report_.serial_ns),
                         Percent(report_.run_efficiency));
    } else if (report_.serial_ns.missing().status == Status::kUnsupported) {
      out += fmt::format("  serial part of the run {}\n", MissingText(report_.serial_ns.missing()));
    }
    if (report_.process_cpu_ns) {
      out += fmt::format("  process CPU {} an inference, profiling off; includes active waiting\n",
                         Time(report_.process_cpu_ns));
    } else if (!result_.source) {
      out += fmt::format("  process CPU of an inference {}\n",
                         MissingText(report_.process_cpu_ns.missing()));
    }
    const std::vector<profile::CoreType>& types = result_.environment.core_types;
    if (types.size() == 1) out += "  the machine's cores are all of one kind\n";
    if (types.size() > 1) {
      out += "  cores:";
      for (const profile::CoreType& type : types) {
        out += fmt::format("{} {} {}", &type == &types.front() ? "" : ",", type.cpus.size(),
                           base::TerminalText(type.name));
      }
      out += '\n';
    }
    if (report_.dropped != 0) {
      out += fmt::format("  {} found no place in the collector: nothing is added up over regions\n",
                         Counted(report_.dropped, "region"));
    }
    return out;
  }

  // Operators of one name that ran on one thread for a large part of the run.
  [[nodiscard]] std::string Sentences() const {
    struct Serial {
      std::string name;
      size_t instructions = 0;
      double serial_ns = 0;
      double wall_ns = 0;
    };
    if (!report_.threads || *report_.threads < 2) return {};
    std::map<std::string, Serial> by_name;
    for (const RegionOperator& op : report_.operators) {
      if (!IsFinite(op.serial_ns) || !IsFinite(op.wall_ns)) continue;
      Serial& serial = by_name[OpName(result_, op.op)];
      ++serial.instructions;
      serial.serial_ns += *op.serial_ns;
      serial.wall_ns += *op.wall_ns;
    }
    std::vector<Serial> large;
    for (auto& [name, serial] : by_name) {
      if (serial.serial_ns < kLargePart * result_.profiled_mean_ns) continue;
      if (serial.serial_ns < kNearlyAll * serial.wall_ns) continue;
      large.push_back(serial);
      large.back().name = name;
    }
    std::stable_sort(large.begin(), large.end(),
                     [](const Serial& a, const Serial& b) { return a.serial_ns > b.serial_ns; });
    if (large.size() > kMostSentences) large.resize(kMostSentences);
    std::string out;
    const TimeUnit unit(result_.profiled_mean_ns);
    for (const Serial& serial : large) {
      out += fmt::format(
          "  {}{} ran on one thread: {} of the run's {}\n", serial.name,
          serial.instructions == 1 ? "" : fmt::format(" ({} instructions)", serial.instructions),
          unit.Value(serial.serial_ns), unit.Text(result_.profiled_mean_ns));
    }
    return out;
  }

  // Instructions of one name are told apart as in "where the time goes": " [12]".
  [[nodiscard]] std::string InstructionText(uint32_t op) const {
    const auto found =
        op < result_.ops.size() ? operators_.find(result_.ops[op].name) : operators_.end();
    if (found == operators_.end() || found->second < 2 || !result_.ops[op].instruction) return "";
    return fmt::format(" [{}]", *result_.ops[op].instruction);
  }

  // Only the names in front are cut where a line is too long.
  static std::string Fit(const std::string& name, const std::string& rest, size_t widest) {
    const size_t taken = base::DisplayWidth(rest);
    const size_t left = taken < widest ? widest - taken : 0;
    return base::CutToWidth(name, std::max(left, kShortestName)) + rest;
  }
  [[nodiscard]] std::string Shown(uint32_t op, size_t widest) const {
    return Fit(OpName(result_, op), InstructionText(op), widest);
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
    cells.push_back(Cell::Drawn(fmt::format("{} / {} / {}", Mean(row.requested), Mean(row.admitted),
                                            row.observed ? Mean(*row.observed) : "n/a")));
    if (any_idle_) {
      cells.push_back(
          Cell::Drawn(row.imbalance ? fmt::format("{:.2f}", *row.imbalance) : std::string("–")));
    }
    if (any_migration_) {
      double migrations = 0;
      for (const profile::RegionRank& rank : row.participants) migrations += rank.migrations;
      cells.push_back(Cell::Drawn("≥ " + Mean(migrations)));
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
    if (row.calls_per_run != 1) text += fmt::format(", {} a run", Mean(row.calls_per_run));
    if (row.op) text = " in " + Shown(*row.op, widest / 2) + text;
    return Fit(NameText(row.where), text, widest);
  }

  [[nodiscard]] std::string Operators() const {
    std::vector<const RegionOperator*> worst;
    for (const RegionOperator& op : report_.operators) {
      if (op.efficiency) worst.push_back(&op);
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
      table.AddRow({Cell::Drawn(Percent(op->efficiency)), TimeCell(op->idle_core_ns),
                    TimeCell(op->wall_ns), TimeCell(op->serial_ns), CallsCell(op->regions_per_run),
                    Cell::Drawn(Shown(op->op, options_.width > 90 ? options_.width - 45 : 45))});
    }
    return "\n  operators by idle core-time, a run (an upper bound, not a saving)\n" +
           table.Render(Format::kTable, 2) + MoreText(all - worst.size());
  }

  const PerfResult& result_;
  const PerfTextOptions& options_;
  const RegionReport& report_;
  std::unordered_map<std::string, size_t> operators_;  // names of instructions: how many
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

Cell Ranks(const Metric<std::vector<double>>& figures) {
  return figures ? Cell::Numbers(*figures) : Cell::Missing(figures.missing());
}

Cell Ratio(const Metric<double>& ratio) {
  return ratio ? Cell::Number(*ratio) : Cell::Missing(ratio.missing());
}

}  // namespace

Table RegionTable(const PerfResult& result) {
  Table table({{"index", Align::kRight},
               {"where"},
               {"op", Align::kRight},
               {"parent", Align::kRight},
               {"calls", Align::kRight, "calls_per_run"},
               {"iterations", Align::kRight},
               {"grain", Align::kRight},
               {"requested", Align::kRight},
               {"admitted", Align::kRight},
               {"observed", Align::kRight},
               {"wall", Align::kRight, "wall_ns"},
               {"p50", Align::kRight, "p50_ns"},
               {"busy by rank, ns", Align::kLeft, "busy_ns"},
               {"idle", Align::kRight, "idle_core_ns"},
               {"serial", Align::kRight, "serial_ns"},
               {"busy utilization", Align::kRight, "busy_utilization"},
               {"imbalance", Align::kRight},
               {"process CPU", Align::kRight, "process_cpu_ns"},
               {"CPU utilization", Align::kRight, "cpu_utilization"}});
  if (!result.regions) return table;
  const profile::Missing in_none{Status::kUnavailable, "in none"};
  for (const RegionRow& row : result.regions->rows) {
    table.AddRow({Cell::Plain(row.index), Cell::Text(row.where),
                  row.op ? Cell::Plain(*row.op) : Cell::Missing(in_none),
                  row.parent ? Cell::Plain(*row.parent) : Cell::Missing(in_none),
                  Cell::Number(row.calls_per_run), Cell::Number(row.iterations),
                  Cell::Number(row.grain), Cell::Number(row.requested), Cell::Number(row.admitted),
                  Ratio(row.observed), Cell::Duration(row.wall_ns), Cell::Duration(row.p50_ns),
                  Ranks(row.busy_ns), Cell::Duration(row.idle_core_ns),
                  Cell::Duration(row.serial_ns), Ratio(row.busy_utilization), Ratio(row.imbalance),
                  Cell::Duration(row.process_cpu_ns), Ratio(row.cpu_utilization)});
  }
  return table;
}

std::string RegionTables(const PerfResult& result, const PerfTextOptions& options) {
  if (result.regions) return Section(result, options).Render();
  if (IsQuiet(result.regions.missing().status)) return {};
  return "\nthreads " + MissingText(result.regions.missing()) + "\n";
}

}  // namespace inferprobe::report
