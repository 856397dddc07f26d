// The parts of a result that are rows: operators, delegate calls with their layers, slices. A row
// names its parent by id; how deep it lies is not in the file (see place_rows.h). See
// describe_result.h.
#pragma once

#include <string_view>
#include <unordered_set>

#include "formats/result_json/field.h"
#include "profile/result.h"

namespace inferprobe::result_json {

constexpr std::string_view kTickUnknown = "its clock's tick is not known";

template <class Archive, class Row>
void DescribeParent(Archive& archive, Row& row) {
  if (archive.Optional(field::kParent, row.parent != profile::kNone)) {
    archive.Count(field::kParent, row.parent);
  }
}

// A time, unless the row counts in ticks that nobody can convert.
template <class Archive, class Row, class Time>
void DescribeTime(Archive& archive, std::string_view key, const Row& row, Time& time_ns) {
  profile::Metric<int64_t> figure = time_ns;
  if (row.in_ticks) figure = {profile::Status::kUnavailable, std::string(kTickUnknown)};
  archive.Figure(key, figure);
  if constexpr (Archive::kReading) {
    if (!figure && !row.in_ticks) archive.Refuse(key, "a number, as there is no total_ticks");
    time_ns = figure ? *figure : 0;
  }
}

template <class Archive, class Row>
void DescribeOp(Archive& archive, Row& row) {
  archive.Count(field::kId, row.id);
  DescribeParent(archive, row);
  archive.Enum(field::kType, row.type);
  archive.Enum(field::kKind, row.kind);
  archive.Text(field::kName, row.name);
  archive.Figure(field::kInstruction, row.instruction);
  archive.Count(field::kCalls, row.calls);
  archive.Number(field::kCallsPerRun, row.calls_per_run);
  if constexpr (Archive::kReading) row.in_ticks = archive.Optional(field::kTotalTicks, false);
  DescribeTime(archive, field::kTotalNs, row, row.total_ns);
  DescribeTime(archive, field::kSelfNs, row, row.self_ns);
  if (row.in_ticks) archive.Int(field::kTotalTicks, row.total_ticks);
  archive.Figure(field::kMeanNs, row.mean_ns);
  archive.Figure(field::kP50Ns, row.p50_ns);
  archive.Figure(field::kShare, row.share);
  archive.Figure(field::kProbeCostNs, row.probe_cost_ns);
  archive.Figure(field::kDelegate, row.delegate);
  archive.Figure(field::kModulePath, row.module_path);
}

constexpr auto kDescribeOp = [](auto& archive, auto& row, size_t) { DescribeOp(archive, row); };

template <class Archive, class Phase>
void DescribePhase(Archive& archive, Phase& phase) {
  archive.Text(field::kName, phase.name);
  archive.Enum(field::kKind, phase.kind);
  archive.Count(field::kCalls, phase.calls);
  archive.Number(field::kCallsPerRun, phase.calls_per_run);
  archive.Int(field::kTotalNs, phase.total_ns);
  archive.Figure(field::kMeanNs, phase.mean_ns);
  archive.Figure(field::kP50Ns, phase.p50_ns);
  archive.Figure(field::kShare, phase.share);
}

template <class Archive, class Device>
void DescribeDevice(Archive& archive, Device& device) {
  archive.Text(field::kClock, device.clock);
  archive.Count(field::kCalls, device.calls);
  archive.Count(field::kMissing, device.missing);
  if (archive.Optional(field::kMissingWhy, !device.missing_why.empty())) {
    archive.Text(field::kMissingWhy, device.missing_why);
  }
  archive.Figure(field::kMeanNs, device.mean_ns);
}

template <class Archive, class Summary>
void DescribeDelegateSummary(Archive& archive, Summary& summary) {
  archive.Figure(field::kDelegatesNs, summary.delegates_ns);
  archive.Figure(field::kKernelsNs, summary.kernels_ns);
  archive.Figure(field::kBetweenNs, summary.between_ns);
  archive.Figure(field::kOtherNs, summary.other_ns);
  archive.Figure(field::kUnattributedNs, summary.unattributed_ns);
}

template <class Archive, class Delegate>
void DescribeDelegate(Archive& archive, Delegate& delegate) {
  archive.Count(field::kId, delegate.id);
  archive.Count(field::kOp, delegate.op);
  archive.Text(field::kBackend, delegate.backend);
  archive.Text(field::kEngineId, delegate.engine_id);
  archive.Number(field::kCallsPerRun, delegate.calls_per_run);
  archive.Number(field::kHostNs, delegate.host_ns);
  if (archive.Optional(field::kWholeCall, delegate.whole_call != profile::kNone)) {
    archive.Count(field::kWholeCall, delegate.whole_call);
  }
  if (archive.Optional(field::kMode, delegate.mode != profile::CallMode::kUnknown)) {
    archive.Enum(field::kMode, delegate.mode);
  }
  archive.ObjectsOrStatus(field::kPhases, delegate.phases,
                          [](Archive& each, auto& phase, size_t) { DescribePhase(each, phase); });
  if (archive.Optional(field::kDevice, delegate.device.has_value())) {
    if constexpr (Archive::kReading) delegate.device.emplace();
    archive.Object(field::kDevice, [&] { DescribeDevice(archive, *delegate.device); });
  }
  archive.Objects(field::kLayers, delegate.layers, kDescribeOp);
  archive.Figure(field::kLayerCoverage, delegate.layer_coverage);
  if (archive.Optional(field::kWithinRounding, delegate.within_rounding)) {
    archive.Bool(field::kWithinRounding, delegate.within_rounding);
  }
  archive.Figure(field::kResolutionNs, delegate.resolution_ns);
  if (archive.Optional(field::kLayerErrorNs, delegate.layer_error_ns.has_value())) {
    if constexpr (Archive::kReading) delegate.layer_error_ns.emplace();
    archive.Figure(field::kLayerErrorNs, *delegate.layer_error_ns);
  }
}

template <class Archive, class Slice>
void DescribeSlice(Archive& archive, Slice& slice) {
  archive.Count(field::kId, slice.id);
  DescribeParent(archive, slice);
  archive.Text(field::kTrack, slice.track);
  archive.Text(field::kName, slice.name);
  archive.Enum(field::kKind, slice.kind);
  archive.Count(field::kCalls, slice.calls);
  archive.Int(field::kTotalNs, slice.total_ns);
  archive.Int(field::kSelfNs, slice.self_ns);
  archive.Int(field::kMinNs, slice.min_ns);
  archive.Int(field::kMaxNs, slice.max_ns);
  archive.Figure(field::kMeanNs, slice.mean_ns);
}

template <class Archive, class Sum>
void DescribeSum(Archive& archive, Sum& sum) {
  archive.Text(field::kTrack, sum.track);
  archive.Text(field::kName, sum.name);
  archive.Enum(field::kKind, sum.kind);
  archive.Count(field::kCalls, sum.calls);
  archive.Int(field::kTotalNs, sum.total_ns);
  archive.Figure(field::kMeanNs, sum.mean_ns);
  archive.Figure(field::kP50Ns, sum.p50_ns);
  archive.Figure(field::kShare, sum.share);
  if (archive.Optional(field::kErrorNs, sum.error_ns.has_value())) {
    if constexpr (Archive::kReading) sum.error_ns.emplace();
    archive.Int(field::kErrorNs, *sum.error_ns);
  }
}

// The rows of a result are one list; in the file what an engine reported does not stand among
// host-wall rows, but under its delegate call, or, where it lies in none, in a list of its own.
template <class Archive, class Result>
void DescribeOps(Archive& archive, Result& result) {
  std::unordered_set<uint32_t> layers;
  for (const profile::DelegateResult& delegate : result.delegates) {
    for (const profile::OpRow& layer : delegate.layers) layers.insert(layer.id);
  }
  const auto reported = [](const profile::OpRow& row) {
    return row.type == profile::RowType::kDelegateOp;
  };
  const auto stray = [&](const profile::OpRow& row) {
    return reported(row) && layers.count(row.id) == 0;
  };
  auto&& ops = archive.Those(result.ops, [&](const profile::OpRow& row) { return !reported(row); });
  archive.Objects(field::kOps, ops, kDescribeOp);
  auto&& strays = archive.Those(result.ops, stray);
  if (archive.Optional(field::kEngineOpsOutsideCalls, !strays.empty())) {
    archive.Objects(field::kEngineOpsOutsideCalls, strays, kDescribeOp);
  }
}

}  // namespace inferprobe::result_json
