#include "report/region_list.h"

#include <vector>

#include "report/region_figures.h"

namespace inferprobe::report {
namespace {

using profile::Metric;
using profile::PerfResult;
using profile::RegionRow;
using profile::Status;

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
               {"operator"},
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
  const OperatorNames names(result);
  for (const RegionRow& row : result.regions->rows) {
    table.AddRow({Cell::Plain(row.index),
                  Cell::Text(row.where),
                  row.op ? Cell::Text(names.Name(*row.op) + names.Instruction(*row.op))
                         : Cell::Missing(in_none),
                  row.op ? Cell::Plain(*row.op) : Cell::Missing(in_none),
                  row.parent ? Cell::Plain(*row.parent) : Cell::Missing(in_none),
                  Cell::Count(row.calls_per_run),
                  Cell::Count(row.iterations),
                  Cell::Count(row.grain),
                  Cell::Count(row.requested),
                  Cell::Count(row.admitted),
                  row.observed ? Cell::Count(*row.observed) : Cell::Missing(row.observed.missing()),
                  Cell::Duration(row.wall_ns),
                  Cell::Duration(row.p50_ns),
                  Ranks(row.busy_ns),
                  Cell::Duration(row.idle_core_ns),
                  Cell::Duration(row.serial_ns),
                  Ratio(row.busy_utilization),
                  Ratio(row.imbalance),
                  Cell::Duration(row.process_cpu_ns),
                  Ratio(row.cpu_utilization)});
  }
  return table;
}

}  // namespace inferprobe::report
