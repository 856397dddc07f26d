#include "report/delegate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "profile/delegate_note.h"
#include "report/figure_text.h"
#include "report/largest.h"
#include "report/row_cells.h"
#include "report/table.h"

namespace inferprobe::report {
namespace {

using profile::CallMode;
using profile::DelegateResult;
using profile::Kind;
using profile::Metric;
using profile::OpRow;
using profile::PhaseRow;
using profile::RowType;

constexpr size_t kMostLayers = 8;
constexpr size_t kMostSiblings = 20;
constexpr size_t kMostCalls = 20;  // of delegates, with their layers

std::string ResolutionText(const profile::Metric<int64_t>& resolution_ns) {
  if (!resolution_ns || *resolution_ns <= 1) return "";
  if (*resolution_ns == 1000) return ", whole us";
  if (*resolution_ns == 1'000'000) return ", whole ms";
  return ", ticks of " + base::FormatDurationNs(static_cast<double>(*resolution_ns));
}

Cell TicksPerRun(const OpRow& row, const profile::PerfResult& result) {
  return Cell::Number(static_cast<double>(row.total_ticks) /
                      static_cast<double>(std::max<uint64_t>(result.profiled_runs, 1)));
}

// "; covers 96 % of ..." for the heading, or a line of its own below it.
std::string CoverageText(const profile::DelegateResult& delegate, bool color) {
  const profile::Metric<double>& coverage = delegate.layer_coverage;
  if (!coverage) {
    if (coverage.missing().status != profile::Status::kBelowResolution) {
      return fmt::format("; coverage {})\n", MissingText(coverage.missing()));
    }
    return fmt::format(")\n  coverage n/a, below the engine's resolution: {}\n",
                       base::TerminalText(coverage.missing().hint));
  }
  const bool has_whole = delegate.whole_call != profile::kNone;
  const std::string covers = fmt::format("covers {:.0f} % of the call's {}", *coverage * 100,
                                         has_whole ? "host side" : "host wall time");
  const bool low = *coverage < profile::DelegateResult::kCoverageLow;
  if (!low && *coverage <= profile::DelegateResult::kCoverageHigh) return "; " + covers + ")\n";
  if (delegate.within_rounding) {
    return "; " + covers + ")\n  rounding to whole units explains what is missing from 100 %\n";
  }
  return fmt::format(
      ")\n  {}warning{}: {}; {}\n", color ? "\x1b[33m" : "", color ? "\x1b[0m" : "", covers,
      low ? "the rest is in none of its operators" : "they overlap, or its clock is another");
}

// What an engine reported in no delegate call: it belongs to no row, and is not hidden.
std::string ReportedOutside(const profile::PerfResult& result, const PerfTextOptions& options) {
  Table table(
      {{"mean", Align::kRight}, {"ticks", Align::kRight}, {"calls", Align::kRight}, {"what"}});
  std::unordered_set<uint32_t> inside;  // also in a whole call that no instruction is around
  for (const DelegateResult& delegate : result.delegates) {
    for (const OpRow& layer : delegate.layers) inside.insert(layer.id);
  }
  size_t more = 0;
  for (const OpRow& row : result.ops) {
    if (row.type != RowType::kDelegateOp || inside.contains(row.id)) continue;
    // Inside another report, or in its call.
    if (row.parent < result.ops.size()) {
      const OpRow& parent = result.ops[row.parent];
      if (parent.kind != Kind::kHostWall || parent.type == RowType::kDelegateCall) continue;
    }
    if (!options.all_rows && table.size() >= kMostSiblings) {
      ++more;
      continue;
    }
    table.AddRow({row.in_ticks ? Cell::Drawn("-") : Cell::Duration(row.mean_ns),
                  row.in_ticks ? TicksPerRun(row, result) : Cell::Drawn("-"),
                  CallsCell(row.calls_per_run), Cell::Drawn(NameText(row.name))});
  }
  if (table.size() == 0) return {};
  return "\nreported outside any delegate call (engine-reported; part of no sum)\n" +
         table.Render(Format::kTable, 2) + MoreText(more);
}

std::string CallText(const profile::PerfResult& result, const DelegateResult& delegate) {
  return base::TerminalText(delegate.op < result.ops.size() ? result.ops[delegate.op].name
                                                            : delegate.backend);
}

const char* ModeText(CallMode mode) {
  switch (mode) {
    case CallMode::kUnknown:
      return "";
    case CallMode::kBlocking:
      return "; calls block until the engine is done";
    case CallMode::kSynchronized:
      return "; calls wait for the engine before they return";
    case CallMode::kAsynchronous:
      return "; calls return while work is in flight: host-visible time only";
  }
  return "";
}

// What of the whole call is in none of its phases.
Metric<double> RestOf(const profile::PerfResult& result, const OpRow& whole) {
  if (!whole.mean_ns || result.profiled_runs == 0) return whole.mean_ns;
  return static_cast<double>(whole.self_ns) / static_cast<double>(result.profiled_runs);
}

Metric<double> ShareOf(const Metric<double>& part_ns, double host_ns) {
  if (!part_ns) return part_ns;
  if (!(host_ns > 0)) return profile::Status::kBelowResolution;
  return *part_ns / host_ns;
}

// The delegate's own events, with what a device took beside them.
std::string PhaseTable(const profile::PerfResult& result, const DelegateResult& delegate,
                       const PerfTextOptions& options) {
  const bool has_whole = delegate.whole_call < result.ops.size();
  if (!has_whole || (!delegate.phases && !delegate.device)) return {};
  const OpRow& whole = result.ops[delegate.whole_call];
  std::vector<Column> columns = {{"of call", Align::kRight},
                                 {"mean", Align::kRight},
                                 {"p50", Align::kRight},
                                 {"calls", Align::kRight}};
  if (delegate.device) {
    const std::string clock = base::TerminalText(delegate.device->clock);
    columns.push_back({clock.empty() ? "device" : "device: " + clock, Align::kRight});
  }
  columns.push_back({"what", Align::kLeft, "", options.width > 80 ? options.width - 50 : 30});
  Table table(std::move(columns));
  const auto add = [&](const Metric<double>& share, const Metric<double>& mean_ns, Cell p50,
                       Cell calls, const std::string& what) {
    std::vector<Cell> cells = {Cell::Percent(share), Cell::Duration(mean_ns), std::move(p50),
                               std::move(calls)};
    if (delegate.device) {
      cells.push_back(table.size() == 0 ? Cell::Duration(delegate.device->mean_ns)
                                        : Cell::Drawn(""));
    }
    cells.push_back(Cell::Drawn(what));
    table.AddRow(std::move(cells));
  };
  add(ShareOf(whole.mean_ns, delegate.host_ns), whole.mean_ns, Cell::Duration(whole.p50_ns),
      CallsCell(whole.calls_per_run), NameText(whole.name));
  if (delegate.phases) {
    for (const PhaseRow& phase : *delegate.phases) {
      add(phase.share, phase.mean_ns, Cell::Duration(phase.p50_ns), CallsCell(phase.calls_per_run),
          "├─ " + NameText(phase.name));
    }
    const Metric<double> rest_ns = RestOf(result, whole);
    add(ShareOf(rest_ns, delegate.host_ns), rest_ns, Cell::Drawn(""), Cell::Drawn(""),
        "└─ in no phase");
  }
  std::string out = fmt::format("\nphases of {} (host wall, per run{})\n",
                                CallText(result, delegate), ModeText(delegate.mode));
  out += table.Render(Format::kTable, 2);
  if (delegate.device && delegate.device->missing > 0) {
    const std::string& why = delegate.device->missing_why;
    out += fmt::format(
        "  {} of {} calls have no device time: {}\n", delegate.device->missing,
        delegate.device->missing + delegate.device->calls,
        why.empty() ? "it did not come before the recording ended" : base::TerminalText(why));
  }
  return out;
}

// "x" of "x.delegate" and of "x.layer_report".
std::string PrefixOf(const std::string& name) { return name.substr(0, name.rfind('.')); }

// The events of reading layers: each in its delegate call, or, where no instruction is around the
// whole-call event, beside that.
class LayerReports {
 public:
  explicit LayerReports(const profile::PerfResult& result) : result_(result) {
    for (const OpRow& row : result.ops) {
      if (row.type != RowType::kOther || !row.name.ends_with(profile::kLayerReport)) continue;
      reports_.emplace(std::pair(row.parent, PrefixOf(row.name)), &row);
    }
  }

  // nullptr: it has none.
  [[nodiscard]] const OpRow* Of(const DelegateResult& delegate) const {
    if (delegate.whole_call >= result_.ops.size() || delegate.op >= result_.ops.size()) {
      return nullptr;
    }
    const OpRow& call = result_.ops[delegate.op];
    const uint32_t around = delegate.op == delegate.whole_call ? call.parent : call.id;
    const auto found =
        reports_.find(std::pair(around, PrefixOf(result_.ops[delegate.whole_call].name)));
    return found == reports_.end() ? nullptr : found->second;
  }

 private:
  const profile::PerfResult& result_;
  std::map<std::pair<uint32_t, std::string>, const OpRow*> reports_;
};

// Where the call's time is not the engine's, layers compare with each other.
double ReportedNs(const DelegateResult& delegate) {
  double all_ns = 0;
  for (const OpRow& row : delegate.layers) all_ns += static_cast<double>(row.total_ns);
  return all_ns;
}

std::string LayerTable(const profile::PerfResult& result, const DelegateResult& delegate,
                       const OpRow* report, const PerfTextOptions& options) {
  const std::string name = CallText(result, delegate);
  if (delegate.layers.empty() && report != nullptr) {
    return fmt::format("\ninside {}: its layers went to files (--profile-format)\n", name);
  }
  if (delegate.layers.empty() && result.settings.level == "off") {
    return fmt::format("\ninside {}: n/a (not requested: --level)\n", name);
  }
  if (delegate.layers.empty()) {
    return fmt::format("\ninside {}: {}\n", name,
                       delegate.layer_coverage ? "nothing reported"
                                               : MissingText(delegate.layer_coverage.missing()));
  }
  const bool in_ticks = delegate.layers.front().in_ticks;
  const Kind kind = delegate.layers.front().kind;
  const bool of_one_kind = std::all_of(delegate.layers.begin(), delegate.layers.end(),
                                       [&](const OpRow& row) { return row.kind == kind; });
  std::string out =
      in_ticks
          ? fmt::format("\ninside {} (engine-reported, on a clock of its own: ticks, not times)\n",
                        name)
          : fmt::format("\ninside {} ({}{}{}", name,
                        of_one_kind ? profile::KindText(kind) : "as each row says",
                        ResolutionText(delegate.resolution_ns),
                        CoverageText(delegate, options.color));
  if (delegate.layer_error_ns) out += RunningMeanText(*delegate.layer_error_ns);
  if (report != nullptr) {
    out +=
        fmt::format("  reading layers adds overhead and can change scheduling; it took {} a run\n",
                    report->mean_ns ? base::FormatDurationNs(*report->mean_ns)
                                    : MissingText(report->mean_ns.missing().status));
  }
  std::vector<const OpRow*> rows;
  for (const OpRow& row : delegate.layers) rows.push_back(&row);
  if (!options.all_rows) {
    // By the figure that is printed. Of an engine that keeps running means it is not the total's
    // share: that has the errors of each single value in it.
    const auto size_of = [](const OpRow* row) {
      return std::pair(row->mean_ns ? *row->mean_ns : 0.0, row->total_ns + row->total_ticks);
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const OpRow* a, const OpRow* b) { return size_of(a) > size_of(b); });
    if (rows.size() > kMostLayers + 1) rows.resize(kMostLayers);
  }
  const bool by_itself = !in_ticks && delegate.mode == CallMode::kAsynchronous;
  const double reported_ns = ReportedNs(delegate);
  std::vector<Column> columns = {
      {in_ticks                                ? "of ticks"
       : by_itself                             ? "of reported"
       : delegate.whole_call != profile::kNone ? "of host side"
                                               : "of call",
       Align::kRight},
      {in_ticks ? "ticks" : "mean", Align::kRight},
      {"calls", Align::kRight},
      {"what", Align::kLeft, "", options.width > 60 ? options.width - 34 : 30}};
  if (!of_one_kind) columns.push_back({"kind"});
  Table table(std::move(columns));
  for (const OpRow* row : rows) {
    std::vector<Cell> cells = {
        Cell::Percent(by_itself ? ShareOf(static_cast<double>(row->total_ns), reported_ns)
                                : row->share),
        in_ticks ? TicksPerRun(*row, result) : Cell::Duration(row->mean_ns),
        CallsCell(row->calls_per_run), Cell::Drawn(NameText(row->name))};
    if (!of_one_kind) cells.push_back(Cell::Drawn(profile::KindText(row->kind)));
    table.AddRow(std::move(cells));
  }
  out += table.Render(Format::kTable, 2);
  return out + MoreText(delegate.layers.size() - rows.size());
}

}  // namespace

std::string DelegateSummaryTable(const profile::PerfResult& result) {
  if (!result.delegate_summary || !result.delegate_summary->delegates_ns) return {};
  const profile::DelegateSummary& summary = *result.delegate_summary;
  Table table({{"share", Align::kRight}, {"mean", Align::kRight}, {"what"}});
  const auto add = [&](const Metric<double>& mean_ns, const char* what) {
    table.AddRow({Cell::Percent(ShareOf(mean_ns, result.profiled_mean_ns)), Cell::Duration(mean_ns),
                  Cell::Drawn(what)});
  };
  add(summary.delegates_ns, "in delegates");
  add(summary.kernels_ns, "in kernels of the engine itself");
  add(summary.between_ns, "between instructions");
  if (!summary.other_ns || *summary.other_ns != 0) {
    add(summary.other_ns, "in scopes, setting inputs and other events");
  }
  if (summary.unattributed_ns) add(summary.unattributed_ns, "unattributed");
  return "\nin and between delegates (host wall, per run; adds up to the run)\n" +
         table.Render(Format::kTable, 2);
}

std::string DelegateTables(const profile::PerfResult& result, const PerfTextOptions& options) {
  std::string out = ReportedOutside(result, options);
  std::vector<size_t> calls(result.delegates.size());
  std::iota(calls.begin(), calls.end(), size_t{0});
  if (!options.all_rows) {
    KeepLargest(calls, kMostCalls, [&](size_t call) { return result.delegates[call].host_ns; });
  }
  const LayerReports reports(result);
  for (const size_t call : calls) {
    const DelegateResult& delegate = result.delegates[call];
    out += PhaseTable(result, delegate, options);
    out += LayerTable(result, delegate, reports.Of(delegate), options);
  }
  if (calls.size() < result.delegates.size()) {
    out += fmt::format("\n… and {} more calls of delegates, with less time: --all\n",
                       result.delegates.size() - calls.size());
  }
  return out;
}

}  // namespace inferprobe::report
