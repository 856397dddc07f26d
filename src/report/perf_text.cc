#include "report/perf_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "report/delegate_tables.h"
#include "report/figure_text.h"
#include "report/lines.h"
#include "report/loss_table.h"
#include "report/module_table.h"
#include "report/op_table.h"
#include "report/region_list.h"
#include "report/region_tables.h"
#include "report/slice_tree.h"
#include "report/source_text.h"
#include "report/sum_table.h"

namespace inferprobe::report {
namespace {

using profile::Metric;
using profile::PerfResult;

constexpr size_t kHistogramBins = 24;

std::string Milliseconds(const Metric<double>& ms) {
  if (!ms) return MissingText(ms.missing());
  const double ns = *ms * 1e6;
  return std::isfinite(ns) ? base::FormatDurationNs(ns) : "n/a (not finite)";
}

std::string Bytes(const Metric<int64_t>& bytes) {
  return bytes ? base::FormatBytes(static_cast<double>(*bytes))
               : MissingText(bytes.missing().status);
}

std::string Count(const Metric<int64_t>& count) {
  return count ? base::FormatCount(static_cast<double>(*count))
               : MissingText(count.missing().status);
}

std::string ModelText(const PerfResult& result) {
  const profile::ModelFacts& model = result.model;
  std::string text = fmt::format("{}   {} {} · method {}", model.path, result.engine.title,
                                 result.engine.version, model.method);
  if (result.modules) {
    text += " · " + Counted(result.modules->rows.size(), "module");
  } else if (!model.delegates.empty() || model.instructions ||
             model.instructions.missing().status != profile::Status::kUnsupported) {
    text += " · " + Counted(model.delegates.size(), "delegate");
    text += model.instructions
                ? ", " + Counted(static_cast<uint64_t>(*model.instructions), "instruction")
                : ", instructions " + MissingText(model.instructions.missing().status);
  }
  text += " · " + base::FormatBytes(static_cast<double>(model.bytes));
  if (model.inputs.empty()) return text;
  text += " · inputs ";
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const profile::InputFacts& input = model.inputs[i];
    text += (i == 0 ? "" : ", ") + SpecText(input.spec.type, input.spec.shape);
    const bool last = i + 1 == model.inputs.size() || model.inputs[i + 1].source != input.source;
    if (last && !input.source.empty()) text += " (" + input.source + ")";
  }
  return text;
}

std::string RecordedModelText(const PerfResult& result) {
  std::string name = result.model.path;
  if (name.empty() && result.modules && !result.modules->rows.empty()) {
    name = result.modules->rows.front().facts.class_name;
  }
  std::string text = fmt::format("{}   {} {}", name, result.engine.title, result.engine.version);
  if (result.modules) text += " · " + Counted(result.modules->rows.size(), "module");
  if (!result.model.method.empty()) text += " · method " + result.model.method;
  return text;
}

std::string RowsHeading(const PerfResult& result) {
  return fmt::format("\nwhere the time goes (host wall, per run, {})\n",
                     Counted(result.profiled_runs, "profiled run"));
}

std::string ClockText(const PerfResult& result) {
  const profile::ClockFacts& clock = result.clock;
  if (clock.tick_ns <= 0) return MissingText(profile::Status::kNotMeasured);
  if (clock.source.empty()) {  // found in the times themselves
    return "all times are multiples of " + base::FormatDurationNs(clock.tick_ns);
  }
  return fmt::format("{}, tick {:.2g} ns", clock.source, clock.tick_ns);
}

std::string MachineText(const PerfResult& result) {
  const profile::EnvironmentFacts& machine = result.environment;
  const std::string governor =
      machine.governor ? *machine.governor : MissingText(machine.governor.missing());
  const std::string load = machine.load_average ? fmt::format("{:.1f}", *machine.load_average)
                                                : MissingText(machine.load_average.missing());
  return fmt::format(
      "{}, {} · clock {} · governor {} · load {}", machine.cpu.empty() ? "CPU n/a" : machine.cpu,
      machine.cpus > 0 ? Counted(static_cast<uint64_t>(machine.cpus), "CPU") : "CPUs n/a",
      ClockText(result), governor, load);
}

std::string SteadinessText(const profile::WarmUp& warmup) {
  if (!warmup.steady) return "by count; steadiness " + MissingText(warmup.steady.missing());
  if (warmup.rule == "change point") {
    return *warmup.steady ? "steady by change point" : "NOT steady by change point";
  }
  if (!*warmup.steady) return "by count; NOT steady";
  if (!warmup.steady_after || *warmup.steady_after == 0) return "by count; steady";
  return fmt::format("by count; steady only after {} more, which are counted in",
                     *warmup.steady_after);
}

std::string MeasuredText(const PerfResult& result) {
  double seconds = 0;
  for (const std::vector<double>& process : result.latency.samples_ms) {
    for (const double sample : process) seconds += sample / 1e3;
  }
  std::string text = fmt::format(
      "{} in {} after {} warm-up ({})", Counted(result.latency.count, "run"),
      result.settings.processes == 1 ? "1 process"
                                     : fmt::format("{} processes", result.settings.processes),
      result.warmup.excluded, SteadinessText(result.warmup));
  if (std::isfinite(seconds) && seconds > 0) text += " · " + base::FormatDurationNs(seconds * 1e9);
  return text + " · load " + Milliseconds(result.load_ms) + " · first run " +
         Milliseconds(result.first_run_ms);
}

void AddDisturbances(const PerfResult& result, Lines& lines) {
  const bool several = result.settings.processes > 1;
  for (const profile::Disturbance& item : result.disturbances) {
    const std::string text =
        several ? fmt::format("{} (process {})", item.text, item.process) : item.text;
    item.warning ? lines.AddWarning("warning", text) : lines.Add("note", text);
  }
}

void AddHeader(const PerfResult& result, Lines& lines) {
  lines.Add("model", ModelText(result));
  for (const std::string& note : result.model.notes) lines.Add("note", note);
  lines.Add("machine", MachineText(result));
  lines.Add("measured", MeasuredText(result));
  for (const profile::ProcessResult& process : result.processes) {
    if (process.failure.empty()) continue;
    lines.AddWarning("failed", fmt::format("process {}: {}", process.index, process.failure));
  }
  AddDisturbances(result, lines);
}

std::string LatencyText(const PerfResult& result) {
  const profile::Latency& latency = result.latency;
  if (latency.count == 0 && !latency.avg) {  // a file may say both
    return "\nlatency    " + MissingText(latency.avg.missing()) + "\n";
  }
  // One outlier moves the mean into another unit, not the median.
  const bool has_p50 = !latency.percentiles.empty() && latency.percentiles.front().value;
  const double typical_ms =
      has_p50 ? *latency.percentiles.front().value : (latency.avg ? *latency.avg : 0);
  const TimeUnit unit(typical_ms * 1e6);
  const auto figure = [&](const Metric<double>& ms) {
    if (ms) return unit.Text(*ms * 1e6);
    if (ms.missing().status != profile::Status::kTooFewSamples) return MissingText(ms.missing());
    return fmt::format("n/a ({})", ms.missing().hint);  // "needs 100, has 25" says it all
  };
  const std::string heading = "latency (host wall, profiling off)";
  const Bars bars = Histogram(latency.samples_ms, kHistogramBins);
  std::string out = "\n" + heading;
  if (!bars.text.empty()) {
    out += fmt::format("   {}   {} … {}", bars.text, unit.Value(bars.low * 1e6),
                       unit.Text(bars.high * 1e6));
    if (bars.beyond != 0) {
      out += fmt::format(", {} beyond to {}", bars.beyond, base::FormatDurationNs(bars.max * 1e6));
    }
  }
  out += '\n';
  Table table({{""}, {""}, {""}, {""}, {""}});
  std::vector<std::vector<std::string>> right = {
      {"avg", figure(latency.avg)},
      {"std", figure(latency.std)},
      {"min", figure(latency.min)},
      {"max", figure(latency.max)},
      {"rate", latency.rate_single_stream_per_s
                   ? base::FormatCount(*latency.rate_single_stream_per_s) + " /s single stream"
                   : MissingText(latency.rate_single_stream_per_s.missing())}};
  if (latency.avg_interval) right[0][1] += "  " + IntervalText(latency.avg_interval, unit);
  for (size_t i = 0; i < std::max(latency.percentiles.size(), right.size()); ++i) {
    std::vector<Cell> row;
    if (i < latency.percentiles.size()) {
      const profile::Percentile& percentile = latency.percentiles[i];
      row.push_back(Cell::Drawn(fmt::format("p{:g}", percentile.p * 100)));
      row.push_back(Cell::Drawn(figure(percentile.value)));
      row.push_back(
          Cell::Drawn(percentile.value ? IntervalText(percentile.interval, unit) : std::string()));
    } else {
      row.resize(3);
    }
    if (i < right.size()) {
      row.push_back(Cell::Drawn(right[i][0]));
      row.push_back(Cell::Drawn(right[i][1]));
    }
    table.AddRow(std::move(row));
  }
  std::string body = table.Render(Format::kTable, 2);
  return out + body.substr(body.find('\n') + 1);  // the columns have no titles
}

// "+1.2" of 1.012.
std::string PercentText(double ratio) {
  const std::string text = ChangeText(ratio);
  return text.substr(0, text.find(' '));
}

std::string PerturbationText(const profile::Perturbation& perturbation) {
  if (!perturbation.ratio) return "costs " + MissingText(perturbation.ratio.missing());
  // Of a ratio without an interval nobody knows what it is worth.
  const auto change = [](double ratio, const Metric<profile::Interval>& interval) {
    if (!interval) return MissingText(interval.missing());
    const std::string low = PercentText(interval->low);
    if (interval->open_above) return fmt::format("{} [{}, …)", ChangeText(ratio), low);
    return fmt::format("{} [{}, {}]", ChangeText(ratio), low, PercentText(interval->high));
  };
  std::string text =
      fmt::format("costs {} of a run", change(*perturbation.ratio, perturbation.interval));
  if (perturbation.null_ratio) {
    text += fmt::format("; identical code (A/A) shows {}",
                        change(*perturbation.null_ratio, perturbation.null_interval));
  }
  return text;
}

std::string MemoryText(const profile::MemoryFacts& memory) {
  // Of an engine that plans and counts nothing.
  const bool has_plan = memory.planned_bytes ||
                        memory.planned_bytes.missing().status != profile::Status::kUnsupported;
  if (!has_plan) return fmt::format("peak {}", Bytes(memory.peak_rss_bytes));
  return fmt::format("planned {} · load {} allocations, {} · a run {} allocations, {} · peak {}",
                     Bytes(memory.planned_bytes), Count(memory.method_allocations),
                     Bytes(memory.method_bytes), Count(memory.run_allocations),
                     Bytes(memory.run_bytes), Bytes(memory.peak_rss_bytes));
}

std::string OutputText(const profile::OutputCheck& outputs) {
  std::string text;
  switch (outputs.verdict) {
    case profile::OutputCheck::Verdict::kUnchecked:
      text = "not checked";
      break;
    case profile::OutputCheck::Verdict::kMatch:
      text = "as expected";
      break;
    case profile::OutputCheck::Verdict::kMismatch:
      text = "NOT as expected";
      break;
  }
  if (!outputs.text.empty()) text += ": " + outputs.text;
  const auto bits = [](const Metric<bool>& equal) {
    if (!equal) return MissingText(equal.missing());
    return std::string(*equal ? "yes" : "NO");
  };
  return text + " · two plain runs equal bit for bit: " + bits(outputs.repeatable) +
         " · with profiling too: " + bits(outputs.profiled_equal);
}

void AddModules(const PerfResult& result, const PerfTextOptions& options, Lines* lines) {
  if (!result.modules) return;
  lines->Block("\n" + ModuleText(result, {.fold = !options.all_rows}));
}

// What was read from a trace: as far as it has the data. What such a file never holds (memory,
// outputs, the machine) is not listed as missing.
std::string RecordingText(const PerfResult& result, const PerfTextOptions& options) {
  Lines lines(options.color);
  AddSource(*result.source, options.all_rows, &lines);
  if (!result.model.path.empty() || result.modules) lines.Add("model", RecordedModelText(result));
  if (result.clock.tick_ns > 0) lines.Add("clock", ClockText(result));
  if (result.load_ms) lines.Add("load", Milliseconds(result.load_ms));
  if (result.latency.count > 0) {
    lines.Add("measured", MeasuredText(result));
    AddDisturbances(result, lines);
    lines.Block(LatencyText(result));
  } else if (result.profiled_runs > 0) {
    lines.Add("latency",
              "n/a (no run without profiling is in this file; inferprobe perf measures "
              "them)");
  }
  AddModules(result, options, &lines);
  if (result.profiled_runs == 0) {
    lines.Block(SliceTree(result, options));
    lines.Block(SumTables(result, options));
  } else {
    lines.Block(RowsHeading(result));
    if (result.perturbation.ratio) {
      lines.Add("profiling", PerturbationText(result.perturbation));
    }
    lines.Block(OpTree(result, options));
    lines.Block(DelegateSummaryTable(result));
    lines.Block(DelegateTables(result, options));
    lines.Block(RegionTables(result, options));
  }
  lines.Block(options.counters);
  lines.Block(LossTable(result.losses));
  return lines.Take();
}

// Calls of modules, timed in the user's own program: nothing was run for it.
bool HasOnlyModules(const PerfResult& result) {
  return result.modules && result.latency.count == 0 && result.profiled_runs == 0;
}

std::string OnlyModules(const PerfResult& result, const PerfTextOptions& options) {
  Lines lines(options.color);
  lines.Add("model", RecordedModelText(result));
  if (!result.environment.cpu.empty()) lines.Add("machine", MachineText(result));
  AddDisturbances(result, lines);
  AddModules(result, options, &lines);
  lines.Block(LossTable(result.losses));
  return lines.Take();
}

std::string OnlyRegions(const PerfResult& result, Format format, const PerfTextOptions& options) {
  if (format != Format::kTable) return RegionTable(result).Render(format);
  if (!result.regions) return "parallel regions: " + MissingText(result.regions.missing()) + "\n";
  return RegionTables(result, options).substr(1);
}

}  // namespace

std::string PerfText(const PerfResult& result, const PerfTextOptions& options) {
  if (result.source) return RecordingText(result, options);
  if (HasOnlyModules(result)) return OnlyModules(result, options);
  Lines lines(options.color);
  AddHeader(result, lines);
  lines.Block(LatencyText(result));
  AddModules(result, options, &lines);
  lines.Block(RowsHeading(result));
  lines.Add("profiling", PerturbationText(result.perturbation));
  lines.Block(OpTree(result, options));
  lines.Block(DelegateSummaryTable(result));
  lines.Block(DelegateTables(result, options));
  lines.Block(RegionTables(result, options));
  lines.Block("\n");
  lines.Add("memory", MemoryText(result.memory));
  lines.Add("outputs", OutputText(result.outputs));
  lines.Block(LossTable(result.losses));
  return lines.Take();
}

std::string PerfReport(const PerfResult& result, Format format, const PerfTextOptions& options) {
  if (options.only_regions) return OnlyRegions(result, format, options);
  if (format == Format::kTable) return PerfText(result, options);
  if (result.modules && result.ops.empty()) return ModuleTable(result).Render(format);
  const bool only_sums = result.slices.empty() && !result.sums.empty() && result.ops.empty();
  if (only_sums) return SumTable(result).Render(format);
  return (result.slices.empty() ? OpTable(result) : SliceTable(result)).Render(format);
}

}  // namespace inferprobe::report
