#include "report/region_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/lines.h"
#include "report/region_figures.h"
#include "report/row_cells.h"

namespace inferprobe::report {
namespace {

using profile::Metric;
using profile::PerfResult;
using profile::RegionOperator;
using profile::RegionReport;
using profile::Status;

// docs/measure/parallel.md has them, too.
constexpr double kLargePart = 0.05;   // of the run, to be worth a sentence
constexpr double kNearlyAll = 0.9;    // of an operator's wall time with fewer than two threads busy
constexpr double kOneThread = 0.999;  // the same: a second thread was as good as never there
constexpr size_t kMostSentences = 20;  // more parts of that size there are not, but in a bad file

std::string CountText(int64_t count, const char* what) {
  return Counted(static_cast<uint64_t>(std::max<int64_t>(count, 0)), what);
}

std::string Heading(const RegionReport& report) {
  const std::string count =
      report.per_inference
          ? CountText(*report.per_inference, "parallel region") + " a run"
          : fmt::format("{} parallel regions a run; {}", MeanText(report.mean_per_inference),
                        base::TerminalText(report.per_inference.missing().hint));
  return fmt::format(
      "\nthreads ({}; host wall{})\n", count,
      report.detail == "wall" ? "; --regions=busy sees who took part" : ", busy per participant");
}

std::string InRegions(const RegionReport& report) {
  const std::string threads = report.threads
                                  ? CountText(*report.threads, "thread")
                                  : "threads " + MissingText(report.threads.missing().status);
  if (!report.efficiency) {
    return fmt::format("  in regions: efficiency {} · {}\n",
                       MissingText(report.efficiency.missing()), threads);
  }
  return fmt::format(
      "  in regions: efficiency {} of {} · {} of idle core-time a run (an upper bound, not a "
      "saving)\n",
      PercentText(report.efficiency), threads, TimeText(report.idle_core_ns));
}

// What is in no line about the run.
double HiddenNs(const RegionReport& report) {
  double hidden_ns = 0;
  for (const profile::NotObservable& hidden : report.not_observable) hidden_ns += hidden.wall_ns;
  return hidden_ns;
}

std::string OfWhichPart(const RegionReport& report) {
  if (report.not_observable.empty()) return "in the whole run";
  if (!IsFinite(report.observable_ns)) return "in the observable part of the run";
  const double all_ns = *report.observable_ns + HiddenNs(report);
  return fmt::format("in the observable {} of the run",
                     base::FormatPercent(all_ns > 0 ? *report.observable_ns / all_ns : 0));
}

// threads x observable - busy, of which the efficiency is made.
Metric<double> RunIdleNs(const RegionReport& report) {
  if (!report.run_efficiency) return report.run_efficiency.missing();
  if (!report.observable_ns) return report.observable_ns.missing();
  if (!report.threads) return report.threads.missing();
  const double room_ns = static_cast<double>(*report.threads) * *report.observable_ns;
  return std::max(0.0, room_ns * (1 - *report.run_efficiency));
}

std::string InRun(const RegionReport& report) {
  if (!report.serial_ns) {
    if (report.serial_ns.missing().status != Status::kUnsupported) return {};
    return fmt::format("  serial part of the run {}\n", MissingText(report.serial_ns.missing()));
  }
  Metric<double> serial_share = report.serial_share;
  if (!report.not_observable.empty() && IsFinite(report.observable_ns)) {
    serial_share =
        *report.observable_ns > 0 ? Metric<double>(*report.serial_ns / *report.observable_ns) : 0.0;
  }
  const Metric<double> idle_ns = RunIdleNs(report);
  return fmt::format("  {}: efficiency {}{} · {} is serial: {}\n", OfWhichPart(report),
                     PercentText(report.run_efficiency),
                     idle_ns ? " · " + TimeText(idle_ns) + " of idle core-time" : std::string(),
                     PercentText(serial_share), TimeText(report.serial_ns));
}

std::string OfMachine(const PerfResult& result) {
  const RegionReport& report = *result.regions;
  std::string out;
  if (report.process_cpu_ns) {
    out += fmt::format("  process CPU {} an inference, profiling off; includes active waiting\n",
                       TimeText(report.process_cpu_ns));
  } else if (!result.source) {
    out += fmt::format("  process CPU of an inference {}\n",
                       MissingText(report.process_cpu_ns.missing()));
  }
  const std::vector<profile::CoreType>& types = result.environment.core_types;
  if (types.size() == 1) out += "  the machine's cores are all of one kind\n";
  if (types.size() > 1) {
    out += "  cores:";
    for (const profile::CoreType& type : types) {
      out += fmt::format("{} {} {}", &type == &types.front() ? "" : ",", type.cpus.size(),
                         base::TerminalText(type.name));
    }
    out += '\n';
  }
  if (report.dropped != 0) {
    out += fmt::format("  {} found no place in the collector: nothing is added up over regions\n",
                       Counted(report.dropped, "region"));
  }
  return out;
}

// The instructions of one name.
struct Serial {
  std::string name;
  size_t instructions = 0;
  double serial_ns = 0;
  double wall_ns = 0;
};

std::vector<Serial> LargeSerials(const PerfResult& result) {
  const OperatorNames names(result);
  std::map<std::string, Serial> by_name;
  for (const RegionOperator& op : result.regions->operators) {
    if (!IsFinite(op.serial_ns) || !IsFinite(op.wall_ns)) continue;
    Serial& serial = by_name[NameText(names.Name(op.op))];
    ++serial.instructions;
    serial.serial_ns += *op.serial_ns;
    serial.wall_ns += *op.wall_ns;
  }
  std::vector<Serial> large;
  for (auto& [name, serial] : by_name) {
    if (serial.wall_ns < kLargePart * result.profiled_mean_ns) continue;
    if (serial.serial_ns < kNearlyAll * serial.wall_ns) continue;
    large.push_back(std::move(serial));
    large.back().name = name;
  }
  std::stable_sort(large.begin(), large.end(),
                   [](const Serial& a, const Serial& b) { return a.serial_ns > b.serial_ns; });
  if (large.size() > kMostSentences) large.resize(kMostSentences);
  return large;
}

// With one thread in the pool all of it is no news.
std::string Sentences(const PerfResult& result) {
  if (!result.regions->threads || *result.regions->threads < 2) return {};
  std::string out;
  const TimeUnit unit(result.profiled_mean_ns);
  for (const Serial& serial : LargeSerials(result)) {
    const bool all = serial.serial_ns >= kOneThread * serial.wall_ns;
    out += fmt::format(
        "  {}{} ran {}: {} of the run's {}\n", serial.name,
        serial.instructions == 1 ? "" : fmt::format(" ({} instructions)", serial.instructions),
        all ? "on one thread" : "nearly all of the time on one thread",
        unit.Value(serial.serial_ns), unit.Text(result.profiled_mean_ns));
  }
  return out;
}

}  // namespace

std::string RegionSummary(const PerfResult& result) {
  const RegionReport& report = *result.regions;
  return Heading(report) + InRegions(report) + InRun(report) + OfMachine(result) +
         Sentences(result);
}

}  // namespace inferprobe::report
