#include "formats/trex/layers_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "profile/delegate_note.h"
#include "profile/sum_note.h"

namespace inferprobe::trex {
namespace {

using profile::DelegateResult;
using profile::Kind;
using profile::Loss;
using profile::LossCounts;
using profile::OpRow;
using profile::PerfResult;
using profile::Profile;
using profile::Recording;

constexpr double kMostNs = 9e18;
constexpr const char* kRunningMean = "running_mean";
constexpr const char* kOverheadNote = "reading layers adds overhead and can change scheduling";

// What shares of a delegate's layers are of.
double WholeNs(const DelegateResult& delegate, const PerfResult& result) {
  if (delegate.whole_call >= result.ops.size()) return delegate.host_ns;
  return static_cast<double>(result.ops[delegate.whole_call].total_ns) /
         static_cast<double>(result.profiled_runs);
}

bool IsReported(Kind kind) {
  return kind == Kind::kEngineReported || kind == Kind::kEngineMeanSinceCompile;
}

// What a layer is, where its slices tell: the first one of its name speaks for all.
std::unordered_map<std::string_view, LayerType> TypesByName(const Profile& profile) {
  std::unordered_map<std::string_view, LayerType> types;
  profile::DelegateNotes notes(&profile);
  for (const profile::Slice& slice : profile.slices) {
    const profile::DelegateNote* note = notes.Of(slice);
    if (note == nullptr || (note->type.empty() && note->exec.empty())) continue;
    types.try_emplace(profile.Name(slice), LayerType{note->type, note->exec});
  }
  return types;
}

// Sums of a file that had nothing else, as they were.
LayerProfile SumsOf(const Profile& profile) {
  LayerProfile layers;
  for (const profile::Slice& slice : profile.slices) {
    std::optional<profile::SumNote> note = profile::SumNoteOf(profile, slice);
    if (!note) continue;
    Layer& layer = layers.layers.emplace_back();
    layer.name = profile.Name(slice);
    layer.type = std::move(note->type);
    layer.exec = std::move(note->exec);
    layer.calls = note->calls;
    layer.total_ns = note->total_ns;
    if (note->median_ns) layer.median_ns = *note->median_ns;
    layers.count = std::max(layers.count, layer.calls);
  }
  return layers;
}

// What was reported of a layer a run. Also below resolution, where its table says none: a sum is
// what a profile consists of, and the metadata tells by how much it may be off.
std::optional<double> MeanNs(const OpRow& row, const DelegateResult& delegate,
                             const PerfResult& result) {
  if (row.mean_ns) return *row.mean_ns;
  if (row.mean_ns.missing().status != profile::Status::kBelowResolution) return std::nullopt;
  // The mean of all readings, of which the profiled runs' own sum is a part.
  if (delegate.layer_error_ns && *delegate.layer_error_ns && row.share) {
    return *row.share * WholeNs(delegate, result);
  }
  return static_cast<double>(row.total_ns) / static_cast<double>(result.profiled_runs);
}

// The rows of the profiled runs.
void AddRows(const DelegateResult& delegate, const PerfResult& result, LayerProfile* layers,
             LossCounts* losses) {
  for (const OpRow& row : delegate.layers) {
    const bool inside = row.parent < result.ops.size() &&
                        result.ops[row.parent].type == profile::RowType::kDelegateOp;
    const std::optional<double> mean_ns = MeanNs(row, delegate, result);
    if (inside || row.in_ticks || !mean_ns || !IsReported(row.kind)) {
      losses->Add(Loss::kNotInFormat);
      continue;
    }
    const double total_ns = *mean_ns * static_cast<double>(result.profiled_runs);
    if (!(total_ns >= 0 && total_ns <= kMostNs)) {
      losses->Add(Loss::kNotInFormat);
      continue;
    }
    Layer& layer = layers->layers.emplace_back();
    layer.name = row.name;
    layer.calls = row.calls;
    layer.total_ns = std::llround(total_ns);
    layer.median_ns = row.p50_ns;
  }
}

// Of a recording without runs: what stands on the tracks of engines.
void AddSlices(const PerfResult& result, LayerProfile* layers, LossCounts* losses) {
  for (const profile::SliceRow& row : result.slices) {
    if (!IsReported(row.kind)) continue;
    if (row.parent != profile::kNone || !row.mean_ns || row.total_ns < 0) {
      losses->Add(Loss::kNotInFormat);
      continue;
    }
    Layer& layer = layers->layers.emplace_back();
    layer.name = row.name;
    layer.calls = row.calls;
    layer.total_ns = row.total_ns;
    layers->count = std::max(layers->count, row.calls);
  }
}

void Append(std::string* list, const std::string& name) {
  if (name.empty() || (", " + *list + ", ").find(", " + name + ", ") != std::string::npos) return;
  *list += (list->empty() ? "" : ", ") + name;
}

// By how much a layer's average may be off, of the delegate whose is largest.
void AddErrors(const Recording& recording, const PerfResult& result, Metadata* metadata) {
  const auto add = [&](double error_ns) {
    const int64_t whole_ns = std::llround(std::clamp(error_ns, 0.0, kMostNs));
    metadata->error_ns = metadata->error_ns ? std::max(*metadata->error_ns, whole_ns) : whole_ns;
  };
  for (const DelegateResult& delegate : result.delegates) {
    if (delegate.layers.empty() || !delegate.layer_error_ns) continue;
    metadata->of = kRunningMean;
    if (*delegate.layer_error_ns) add(std::ceil(**delegate.layer_error_ns));
  }
  for (const profile::Slice& slice : recording.profile.slices) {
    const std::optional<profile::SumNote> note = profile::SumNoteOf(recording.profile, slice);
    if (!note) continue;
    if (note->of_running_mean) metadata->of = kRunningMean;
    if (note->error_ns) add(static_cast<double>(*note->error_ns));
  }
}

Metadata Describe(const Recording& recording, const PerfResult& result) {
  Metadata metadata;
  metadata.notes = recording.source.notes;
  AddErrors(recording, result, &metadata);
  const bool read_by_kit = std::any_of(result.ops.begin(), result.ops.end(), [](const OpRow& row) {
    return row.type == profile::RowType::kOther && row.name.ends_with(profile::kLayerReport);
  });
  if (read_by_kit) metadata.notes.emplace_back(kOverheadNote);
  metadata.model = recording.model.path;
  metadata.method = recording.model.method;
  for (const profile::DelegateResult& delegate : result.delegates) {
    if (delegate.layers.empty()) continue;
    Append(&metadata.engine, delegate.backend);
    Append(&metadata.engine_id, delegate.engine_id);
  }
  if (result.delegates.empty()) {
    metadata.engine = recording.engine.title;
    metadata.engine_version = recording.engine.version;
    for (const profile::DelegateFacts& delegate : recording.model.delegates) {
      Append(&metadata.engine_id, delegate.engine_id);
    }
  }
  for (const profile::Track& track : recording.profile.tracks) {
    if (track.kind == Kind::kEngineMeanSinceCompile) metadata.kind = KindName(track.kind);
  }
  if (!result.sums.empty()) metadata.kind = KindName(result.sums.front().kind);
  return metadata;
}

}  // namespace

Result<ProfileAndMetadata> LayersOf(const Recording& recording, const PerfResult& result,
                                    LossCounts* losses) {
  ProfileAndMetadata out;
  out.profile = SumsOf(recording.profile);
  if (out.profile.layers.empty() && result.profiled_runs > 0) {
    out.profile.count = result.profiled_runs;
    for (const profile::DelegateResult& delegate : result.delegates) {
      AddRows(delegate, result, &out.profile, losses);
    }
  } else if (out.profile.layers.empty()) {
    AddSlices(result, &out.profile, losses);
  }
  if (out.profile.layers.empty()) {
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("{}: holds no layers with times that an engine reported: a TREX profile "
                    "consists of such",
                    recording.source.path),
        "inferprobe perf --level layers records them");
  }
  const auto types = TypesByName(recording.profile);
  for (Layer& layer : out.profile.layers) {
    const auto type = types.find(layer.name);
    if (type == types.end() || !layer.type.empty() || !layer.exec.empty()) continue;
    layer.type = type->second.type;
    layer.exec = type->second.exec;
  }
  out.metadata = Describe(recording, result);
  out.metadata.layers = TypesOf(out.profile);
  return out;
}

}  // namespace inferprobe::trex
