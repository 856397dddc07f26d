// The part of a result about parallel regions. See describe_result.h.
#pragma once

#include "formats/result_json/field.h"
#include "profile/region_report.h"

namespace inferprobe::result_json {

template <class Archive, class Row>
void DescribeRegionPlace(Archive& archive, Row& row) {
  archive.Text(field::kWhere, row.where);
  if (archive.Optional(field::kLocation, !row.file.empty())) {
    archive.Object(field::kLocation, [&] {
      archive.Text(field::kFile, row.file);
      archive.Count(field::kLine, row.line);
      archive.Text(field::kFunction, row.function);
    });
  }
  if (archive.Optional(field::kCode, !row.code.empty())) archive.Text(field::kCode, row.code);
  if (archive.Optional(field::kOp, row.op.has_value())) {
    if constexpr (Archive::kReading) row.op.emplace();
    archive.Count(field::kOp, *row.op);
  }
  archive.Count(field::kIndex, row.index);
  if (archive.Optional(field::kParent, row.parent.has_value())) {
    if constexpr (Archive::kReading) row.parent.emplace();
    archive.Count(field::kParent, *row.parent);
  }
  if (archive.Optional(field::kNestedInline, row.nested_inline)) {
    archive.Bool(field::kNestedInline, row.nested_inline);
  }
}

template <class Archive, class Rank>
void DescribeRank(Archive& archive, Rank& rank) {
  archive.Number(field::kChunks, rank.chunks);
  archive.Figure(field::kIterations, rank.iterations);
  archive.Number(field::kMigrations, rank.migrations);
  archive.List(field::kCpus, rank.cpus);
  if (archive.Optional(field::kCoreType, !rank.core_type.empty())) {
    archive.Text(field::kCoreType, rank.core_type);
  }
}

template <class Archive, class Row>
void DescribeRegion(Archive& archive, Row& row) {
  DescribeRegionPlace(archive, row);
  archive.Count(field::kCalls, row.calls);
  archive.Number(field::kCallsPerRun, row.calls_per_run);
  archive.Number(field::kIterations, row.iterations);
  archive.Number(field::kGrain, row.grain);
  archive.Number(field::kRequested, row.requested);
  archive.Number(field::kAdmitted, row.admitted);
  archive.Figure(field::kObserved, row.observed);
  archive.Figure(field::kWallNs, row.wall_ns);
  archive.Figure(field::kP50Ns, row.p50_ns);
  archive.ListOrStatus(field::kBusyNs, row.busy_ns);
  archive.Objects(field::kParticipants, row.participants,
                  [](Archive& each, auto& rank, size_t) { DescribeRank(each, rank); });
  archive.Figure(field::kIdleCoreNs, row.idle_core_ns);
  archive.Figure(field::kSerialNs, row.serial_ns);
  archive.Figure(field::kBusyUtilization, row.busy_utilization);
  archive.Figure(field::kImbalance, row.imbalance);
  archive.Figure(field::kProcessCpuNs, row.process_cpu_ns);
  archive.ListOrStatus(field::kWorkerCpuNs, row.worker_cpu_ns);
  archive.Figure(field::kCpuUtilization, row.cpu_utilization);
  archive.Figure(field::kIpc, row.ipc);
  archive.Figure(field::kLlcMissRate, row.llc_miss_rate);
  archive.Object(field::kCounters, [&] {
    archive.Figure(field::kCycles, row.cycles);
    archive.Figure(field::kInstructions, row.instructions);
    archive.Figure(field::kLlcReferences, row.llc_references);
    archive.Figure(field::kLlcMisses, row.llc_misses);
  });
}

template <class Archive, class Operator>
void DescribeRegionOperator(Archive& archive, Operator& op) {
  archive.Count(field::kOp, op.op);
  archive.Number(field::kRegionsPerRun, op.regions_per_run);
  archive.Number(field::kRequested, op.requested);
  archive.Figure(field::kWallNs, op.wall_ns);
  archive.Number(field::kInRegionsNs, op.in_regions_ns);
  archive.Figure(field::kEfficiency, op.efficiency);
  archive.Figure(field::kSerialNs, op.serial_ns);
  archive.Figure(field::kIdleCoreNs, op.idle_core_ns);
}

template <class Archive, class Report>
void DescribeRegions(Archive& archive, Report& report) {
  archive.Text(field::kDetail, report.detail);
  if constexpr (Archive::kReading) {
    if (report.detail != "wall" && report.detail != "busy" && report.detail != "cpu") {
      archive.Refuse(field::kDetail, "\"wall\", \"busy\" or \"cpu\"");
    }
  }
  archive.Count(field::kRuns, report.runs);
  archive.Figure(field::kThreads, report.threads);
  archive.Figure(field::kPerInference, report.per_inference);
  archive.Number(field::kMeanPerInference, report.mean_per_inference);
  archive.Count(field::kDropped, report.dropped);
  archive.Figure(field::kWallNs, report.wall_ns);
  archive.Figure(field::kBusyNs, report.busy_ns);
  archive.Figure(field::kEfficiency, report.efficiency);
  archive.Figure(field::kIdleCoreNs, report.idle_core_ns);
  archive.Figure(field::kObservableNs, report.observable_ns);
  archive.Figure(field::kRunEfficiency, report.run_efficiency);
  archive.Figure(field::kSerialNs, report.serial_ns);
  archive.Figure(field::kSerialShare, report.serial_share);
  archive.Figure(field::kProcessCpuNs, report.process_cpu_ns);
  archive.Objects(field::kRows, report.rows,
                  [](Archive& each, auto& row, size_t) { DescribeRegion(each, row); });
  archive.Objects(field::kOperators, report.operators,
                  [](Archive& each, auto& op, size_t) { DescribeRegionOperator(each, op); });
  archive.Objects(field::kNotObservable, report.not_observable,
                  [](Archive& each, auto& hidden, size_t) {
                    each.Text(field::kWhat, hidden.what);
                    each.Text(field::kWhy, hidden.why);
                    each.Number(field::kWallNs, hidden.wall_ns);
                  });
}

}  // namespace inferprobe::result_json
