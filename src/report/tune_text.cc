#include "report/tune_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/json_writer.h"
#include "report/figure_text.h"
#include "report/lines.h"

namespace inferprobe::report {
namespace {

using base::JsonWriter;
using profile::Interval;
using profile::Metric;
using profile::TuneCandidate;
using profile::TuneResult;

Cell IntervalEnd(const Metric<Interval>& interval, double Interval::* end) {
  return interval ? Cell::Number((*interval).*end) : Cell::Missing(interval.missing());
}

Cell Number(const Metric<double>& value) {
  return value ? Cell::Number(*value) : Cell::Missing(value.missing());
}

Cell MsDuration(const Metric<double>& ms) {
  return ms ? Cell::Duration(std::round(*ms * 1e6)) : Cell::Missing(ms.missing());
}

Cell Threads(const TuneCandidate& candidate) {
  if (candidate.threads > 0) return Cell::Plain(candidate.threads);
  return Cell::Missing({profile::Status::kNotRequested, "the engine's default"});
}

// Titles for documents, keys with units for machines.
Table Rows(const TuneResult& result) {
  Table table({{"candidate"},
               {"threads", Align::kRight},
               {"p50", Align::kRight, "p50_ns"},
               {"ratio", Align::kRight},
               {"low", Align::kRight, "ratio_low"},
               {"high", Align::kRight, "ratio_high"},
               {"verdict"},
               {"why"},
               {"efficiency", Align::kRight},
               {"idle", Align::kRight, "idle_core_ns"},
               {"serial", Align::kRight, "serial_share"},
               {"CPU a run", Align::kRight, "process_cpu_ns"}});
  for (const TuneCandidate& each : result.candidates) {
    table.AddRow({Cell::Text(each.name), Threads(each), MsDuration(each.p50_ms), Number(each.ratio),
                  IntervalEnd(each.interval, &Interval::low),
                  IntervalEnd(each.interval, &Interval::high),
                  Cell::Text(profile::TuneVerdictName(each.verdict)), Cell::Text(each.why),
                  Cell::Percent(each.efficiency), Cell::Duration(each.idle_core_ns),
                  Cell::Percent(each.serial_share), Cell::Duration(each.process_cpu_ns)});
  }
  return table;
}

std::string RatioText(const TuneCandidate& candidate) {
  if (!candidate.ratio) return MissingText(candidate.ratio.missing().status);
  if (!candidate.interval) return fmt::format("{:.3f}", *candidate.ratio);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", *candidate.ratio, candidate.interval->low,
                     candidate.interval->high);
}

std::string ForPeople(const TuneResult& result) {
  Lines lines(false);
  lines.Add("model", result.model);
  lines.Add("engine", result.engine);
  lines.Add("measured", fmt::format("{} of {} for each candidate, in random order; the default "
                                    "twice in each round",
                                    Counted(result.rounds, "round"), result.unit));
  Table table({{"", Align::kLeft, "candidate"},
               {"p50", Align::kRight},
               {"ratio to the default", Align::kRight},
               {"verdict"},
               {"efficiency", Align::kRight},
               {"idle", Align::kRight},
               {"serial", Align::kRight},
               {"CPU a run", Align::kRight}});
  std::string notes;
  for (const TuneCandidate& each : result.candidates) {
    const bool baseline = each.verdict == profile::TuneVerdict::kBaseline;
    table.AddRow({Cell::Text(each.name), MsDuration(each.p50_ms),
                  Cell::Drawn(baseline ? "1" : RatioText(each)),
                  Cell::Text(profile::TuneVerdictText(each.verdict)),
                  Cell::Percent(each.efficiency), Cell::Duration(each.idle_core_ns),
                  Cell::Percent(each.serial_share), Cell::Duration(each.process_cpu_ns)});
    if (!each.why.empty()) {
      notes += fmt::format("  {}: {}\n", each.name, base::TerminalText(each.why));
    }
    if (!each.efficiency && !each.efficiency.missing().hint.empty()) {
      notes += fmt::format("  {}: efficiency {}\n", each.name,
                           base::TerminalText(MissingText(each.efficiency.missing())));
    }
  }
  lines.Block(fmt::format("\ncandidates (host wall, profiling off; intervals at {:.3g} %{})\n",
                          100 * result.confidence,
                          result.candidates.size() > 2 ? ", 95 % for all together" : ""));
  lines.Block(table.Render(Format::kTable, 2));
  lines.Block(notes);
  if (result.null_interval) {
    lines.Block(fmt::format("  A against A: {:.3f} [{:.3f}, {:.3f}] at 99 %\n", *result.null_ratio,
                            result.null_interval->low, result.null_interval->high));
  }
  lines.Block(
      "  efficiency = busy / (threads x wall) of the parallel regions, idle core-time a run an "
      "upper "
      "bound and\n  no saving: from one more process of each, they explain a candidate and decide "
      "nothing\n\n");
  lines.Add(result.best ? "recommended" : "result", result.recommendation);
  return lines.Take();
}

template <class Write>
void Figure(JsonWriter& json, std::string_view key, const Metric<double>& value, Write write) {
  json.Key(key);
  if (value) {
    write(*value);
  } else {
    Cell::Missing(value.missing()).WriteJson(json);
  }
}

void Figure(JsonWriter& json, std::string_view key, const Metric<double>& value) {
  Figure(json, key, value, [&](double number) { json.Number(number); });
}

void IntervalFigure(JsonWriter& json, std::string_view key, const Metric<Interval>& interval) {
  json.Key(key);
  if (!interval) {
    Cell::Missing(interval.missing()).WriteJson(json);
    return;
  }
  json.BeginArray(true).Number(interval->low).Number(interval->high).EndArray();
}

void Numbers(JsonWriter& json, std::string_view key, const std::vector<double>& values) {
  json.Key(key).BeginArray(true);
  for (const double value : values) json.Number(value);
  json.EndArray();
}

std::string Json(const TuneResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("model").String(result.model);
  json.Key("engine").String(result.engine);
  json.Key("rounds").Uint(result.rounds);
  json.Key("unit").String(result.unit);
  json.Key("confidence").Number(result.confidence);
  json.Key("candidates").BeginArray();
  for (const TuneCandidate& each : result.candidates) {
    json.BeginObject();
    json.Key("name").String(each.name);
    json.Key("threads");
    Threads(each).WriteJson(json);
    json.Key("verdict").String(profile::TuneVerdictName(each.verdict));
    json.Key("why").String(each.why);
    Figure(json, "p50_ms", each.p50_ms);
    Figure(json, "ratio", each.ratio);
    IntervalFigure(json, "ratio_interval", each.interval);
    Figure(json, "max_abs_error", each.max_abs_error);
    Numbers(json, "rounds_p50_ms", each.medians_ms);
    json.Key("explained_by").BeginObject();
    Figure(json, "efficiency", each.efficiency);
    Figure(json, "idle_core_ns", each.idle_core_ns);
    Figure(json, "serial_share", each.serial_share);
    Figure(json, "process_cpu_ns", each.process_cpu_ns);
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.Key("a_against_a").BeginObject();
  Figure(json, "ratio", result.null_ratio);
  IntervalFigure(json, "ratio_interval", result.null_interval);
  Numbers(json, "rounds_p50_ms", result.second_ms);
  json.EndObject();
  json.Key("recommended");
  if (result.best) {
    const TuneCandidate& best = result.candidates[*result.best];
    json.BeginObject();
    json.Key("name").String(best.name);
    json.Key("threads").Int(best.threads);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("recommendation").String(result.recommendation);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace

std::string TuneReport(const TuneResult& result, Format format) {
  if (format == Format::kTable) return ForPeople(result);
  return format == Format::kJson ? Json(result) : Rows(result).Render(format);
}

}  // namespace inferprobe::report
