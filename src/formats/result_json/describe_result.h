// The result JSON, described once for both directions: a WriterArchive writes what it meets, a
// ReaderArchive fills it. Functions are called Describe*, take the archive and what to walk over
// (const when writing), and name the fields in the order in which they are written.
//
// The rule that people break: what stands in `if constexpr (Archive::kReading)` only undoes what
// the writer derived; a field is named for both or for none.
#pragma once

#include <vector>

#include "formats/result_json/describe_facts.h"
#include "formats/result_json/describe_latency.h"
#include "formats/result_json/describe_modules.h"
#include "formats/result_json/describe_regions.h"
#include "formats/result_json/describe_rows.h"
#include "formats/result_json/enum_names.h"
#include "profile/result.h"

namespace inferprobe::result_json {

constexpr int64_t kResultSchemaVersion = 1;

template <class Archive, class Outputs>
void DescribeOutputs(Archive& archive, Outputs& outputs) {
  archive.Enum(field::kVerdict, outputs.verdict);
  archive.Text(field::kText, outputs.text);
  archive.Figure(field::kMaxAbsError, outputs.max_abs_error);
  archive.Figure(field::kProfiledEqual, outputs.profiled_equal);
  archive.Figure(field::kRepeatable, outputs.repeatable);
  archive.List(field::kSha256, outputs.sha256);
}

template <class Archive, class Process>
void DescribeProcess(Archive& archive, Process& process) {
  archive.Count(field::kIndex, process.index);
  archive.Int(field::kPid, process.pid);
  archive.Figure(field::kLoadMs, process.load_ms);
  archive.Figure(field::kFirstRunMs, process.first_run_ms);
  archive.Count(field::kLatencyRuns, process.latency_runs);
  archive.Count(field::kProfiledRuns, process.profiled_runs);
  if (archive.Optional(field::kFailure, !process.failure.empty())) {
    archive.Text(field::kFailure, process.failure);
  }
}

struct Statistic {
  std::string name;
  uint64_t value = 0;
  std::string severity, blame, advice;  // follow from the name
};

inline std::vector<Statistic> StatisticsOf(const profile::LossCounts& losses) {
  std::vector<Statistic> statistics;
  for (size_t i = 0; i < static_cast<size_t>(profile::Loss::kCount); ++i) {
    const auto loss = static_cast<profile::Loss>(i);
    const profile::LossInfo& info = profile::InfoOf(loss);
    statistics.push_back({std::string(info.name), losses.Get(loss),
                          profile::SeverityName(info.severity), profile::BlameName(info.blame),
                          std::string(info.advice)});
  }
  return statistics;
}

// A writer lists all. Of an older version some are not there; one of a newer version, which has no
// place here, counts as an unknown field.
template <class Archive, class Losses>
void DescribeStatistics(Archive& archive, Losses& losses) {
  std::vector<Statistic> statistics;
  if constexpr (!Archive::kReading) statistics = StatisticsOf(losses);
  archive.Objects(field::kStatistics, statistics, [&](Archive& each, auto& statistic, size_t) {
    each.Text(field::kName, statistic.name);
    each.Count(field::kValue, statistic.value);
    each.Text(field::kSeverity, statistic.severity);
    each.Text(field::kBlame, statistic.blame);
    each.Text(field::kAdvice, statistic.advice);
    if constexpr (Archive::kReading) {
      const auto loss = LossOf(statistic.name);
      if (!loss) return each.CountUnknown();
      if (losses.Get(*loss) != 0) return each.Refuse(field::kName, "each statistic once");
      losses.Add(*loss, statistic.value);
    }
  });
}

template <class Archive, class Problem>
void DescribeProblem(Archive& archive, Problem& problem) {
  archive.Enum(field::kCode, problem.code);
  archive.Text(field::kMessage, problem.message);
  archive.Text(field::kHint, problem.hint);
}

template <class Archive, class Result>
void DescribeProfiledRuns(Archive& archive, Result& result) {
  archive.Count(field::kProfiledRuns, result.profiled_runs);
  profile::Metric<double> mean_ns = result.profiled_mean_ns;
  if (result.profiled_runs == 0) mean_ns = {profile::Status::kNotMeasured, "no profiled run"};
  archive.Figure(field::kProfiledMeanNs, mean_ns);
  if constexpr (Archive::kReading) result.profiled_mean_ns = mean_ns ? *mean_ns : 0;
}

template <class Archive, class Result>
void DescribeResult(Archive& archive, Result& result) {
  archive.Version(field::kSchemaVersion, kResultSchemaVersion);
  archive.Ignored(field::kComment);
  archive.Object(field::kTool, [&] { DescribeTool(archive, result); });
  if (archive.Optional(field::kSource, result.source.has_value())) {
    if constexpr (Archive::kReading) result.source.emplace();
    archive.Object(field::kSource, [&] { DescribeSource(archive, *result.source); });
  }
  archive.Object(field::kModel, [&] { DescribeModel(archive, result.model); });
  archive.Object(field::kEngine, [&] { DescribeEngine(archive, result.engine); });
  archive.Object(field::kEnvironment,
                 [&] { DescribeEnvironment(archive, result.environment, result.clock); });
  archive.Object(field::kSettings, [&] { DescribeSettings(archive, result.settings); });
  archive.Object(field::kWarmup, [&] { DescribeWarmUp(archive, result.warmup); });
  archive.Figure(field::kLoadMs, result.load_ms);
  archive.Figure(field::kFirstRunMs, result.first_run_ms);
  archive.Object(field::kLatencyMs, [&] { DescribeLatency(archive, result.latency); });
  archive.Figure(field::kRateSingleStreamPerS, result.latency.rate_single_stream_per_s);
  archive.Object(field::kPerturbation, [&] { DescribePerturbation(archive, result.perturbation); });
  archive.Objects(field::kDisturbances, result.disturbances,
                  [](Archive& each, auto& item, size_t) { DescribeDisturbance(each, item); });
  archive.Object(field::kMemory, [&] { DescribeMemory(archive, result.memory); });
  DescribeProfiledRuns(archive, result);
  DescribeOps(archive, result);
  archive.Figure(field::kUnattributedNs, result.unattributed_ns);
  if (archive.Optional(field::kDelegateSummary, result.delegate_summary.has_value())) {
    if constexpr (Archive::kReading) result.delegate_summary.emplace();
    archive.Object(field::kDelegateSummary,
                   [&] { DescribeDelegateSummary(archive, *result.delegate_summary); });
  }
  if (archive.Optional(field::kSlices, !result.slices.empty())) {
    archive.Objects(field::kSlices, result.slices,
                    [](Archive& each, auto& slice, size_t) { DescribeSlice(each, slice); });
  }
  if (archive.Optional(field::kSums, !result.sums.empty())) {
    archive.Objects(field::kSums, result.sums,
                    [](Archive& each, auto& sum, size_t) { DescribeSum(each, sum); });
  }
  DescribeModules(archive, result.modules);
  archive.Objects(field::kDelegates, result.delegates,
                  [](Archive& each, auto& delegate, size_t) { DescribeDelegate(each, delegate); });
  archive.ObjectOrStatus(field::kRegions, result.regions,
                         [](Archive& each, auto& report) { DescribeRegions(each, report); });
  archive.NotBuiltIn(field::kCounters, "this version does not read counters");
  archive.Object(field::kOutputs, [&] { DescribeOutputs(archive, result.outputs); });
  if (archive.Optional(field::kUnwritten, !result.unwritten.empty())) {
    archive.Objects(field::kUnwritten, result.unwritten,
                    [](Archive& each, auto& problem, size_t) { DescribeProblem(each, problem); });
  }
  archive.Objects(field::kProcesses, result.processes,
                  [](Archive& each, auto& process, size_t) { DescribeProcess(each, process); });
  DescribeStatistics(archive, result.losses);
}

}  // namespace inferprobe::result_json
