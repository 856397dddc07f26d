#include "formats/trex/reader.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/saturating.h"
#include "profile/sum_note.h"

namespace inferprobe::trex {
namespace {

using profile::Kind;
using profile::Loss;
using profile::LossCounts;

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view WithoutSpace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

bool TakeChar(std::string_view& text, char c) {
  text = WithoutSpace(text);
  if (!text.starts_with(c)) return false;
  text = WithoutSpace(text.substr(1));
  return true;
}

bool IsVersionKey(std::string_view text) {
  return text.starts_with('"') && text.substr(1).starts_with(kVersionKey);
}

// Times of the host are of no engine's track.
profile::Track TrackOf(const Metadata* metadata) {
  profile::Track track;
  track.kind = metadata != nullptr
                   ? profile::MeasuredKind(metadata->kind).value_or(Kind::kEngineReported)
                   : Kind::kEngineReported;
  const bool host = track.kind == Kind::kHostWall || track.kind == Kind::kHostCpu;
  track.type = host ? profile::TrackType::kMeasure : profile::TrackType::kEngine;
  track.name = host ? "host phases" : "layers";
  if (metadata == nullptr) return track;
  if (!metadata->engine.empty()) track.name += " of " + metadata->engine;
  if (!metadata->engine_id.empty()) track.name += " " + metadata->engine_id;
  return track;
}

// The file beside it, if it can be used.
std::optional<Metadata> MetadataBeside(const std::string& path, LossCounts* losses) {
  const std::string beside = MetadataPath(path);
  if (!base::FileExists(beside)) return std::nullopt;
  if (auto text = base::ReadFile(beside)) {
    if (auto metadata = ParseMetadata(*text, beside)) return *std::move(metadata);
  }
  losses->Add(Loss::kUnreadMetadata);
  return std::nullopt;
}

// Somebody opened the file that lies beside the profile.
Error IsMetadata(const std::string& path) {
  constexpr std::string_view kEnd = ".metadata.json";
  Error error{ErrorCode::kUnsupported,
              fmt::format("{}: this is the metadata of a TREX profile, it holds no times", path),
              "open the profile beside it"};
  if (path.ends_with(kEnd)) {
    error.hint += fmt::format(": {}.json", path.substr(0, path.size() - kEnd.size()));
  }
  return error;
}

int64_t AverageNs(const Layer& layer) {
  if (layer.calls == 0) return 0;
  return layer.total_ns / static_cast<int64_t>(layer.calls);
}

}  // namespace

bool LooksLikeProfile(std::string_view head, uint64_t) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  if (TakeChar(head, '{')) return head.starts_with("\"Layers\"") || IsVersionKey(head);
  if (!TakeChar(head, '[')) return false;
  const std::string_view first = head;
  if (!TakeChar(head, '{')) return false;
  return head.starts_with("\"count\"") || first.find("\"timeMs\"") != std::string_view::npos;
}

profile::Recording RecordingOf(const LayerProfile& layers, const Metadata* metadata,
                               const std::string& name) {
  profile::Recording recording;
  recording.source.path = name;
  recording.source.format = "trex";
  recording.source.title = "TREX profile";
  recording.source.blocks.push_back({"inference", layers.count, layers.layers.size()});
  profile::Profile& profile = recording.profile;
  profile.runs_marked = true;
  if (metadata != nullptr) {
    recording.source.notes = metadata->notes;
    recording.engine.title = metadata->engine;
    recording.engine.version = metadata->engine_version;
    recording.model.path = metadata->model;
    recording.model.method = metadata->method;
    if (!metadata->engine_id.empty()) {
      profile::DelegateFacts& delegate = recording.model.delegates.emplace_back();
      delegate.backend = metadata->engine;
      delegate.engine_id = metadata->engine_id;
    }
  }
  profile.tracks.push_back(TrackOf(metadata));

  profile.slices.reserve(layers.layers.size());
  int64_t at_ns = 0;
  for (size_t i = 0; i < layers.layers.size(); ++i) {
    const Layer& layer = layers.layers[i];
    profile::SumNote note;
    note.kind = profile.tracks[0].kind;
    note.calls = layer.calls;
    note.total_ns = layer.total_ns;
    if (layer.median_ns) note.median_ns = *layer.median_ns;
    note.type = layer.type;
    note.exec = layer.exec;
    if (metadata != nullptr) {
      note.of_running_mean = metadata->of == "running_mean";
      if (metadata->error_ns) note.error_ns = *metadata->error_ns;
    }
    if (metadata != nullptr && i < metadata->layers.size()) {
      note.type = metadata->layers[i].type;
      note.exec = metadata->layers[i].exec;
    }
    profile::SliceArgs args;
    args.metadata = static_cast<uint32_t>(profile.metadata.size());
    profile.metadata.push_back(profile::WriteSumNote(note));
    profile::Slice slice;
    slice.category = profile::Category::kDelegateOp;
    slice.name = profile.strings.Intern(layer.name);
    slice.start_ns = at_ns;
    slice.dur_ns = AverageNs(layer);
    slice.args = profile.AddArgs(args);
    profile.slices.push_back(slice);
    at_ns = base::SaturatingAdd(at_ns, slice.dur_ns);
    if (base::IsSaturated(at_ns)) at_ns = 0;  // the places mean nothing
  }
  return recording;
}

Result<profile::Recording> ReadProfile(const std::string& path,
                                       const profile::ReadOptions& options) {
  if (options.input_unit_ns != 0) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a TREX profile is in milliseconds: no --input-unit applies", path),
        "--input-unit is for ETDumps");
  }
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  if (std::string_view head = file->bytes(); TakeChar(head, '{') && IsVersionKey(head)) {
    return tl::unexpected(IsMetadata(path));
  }
  LossCounts losses;
  auto layers = ParseProfile(file->bytes(), path, &losses);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  if (!layers) return tl::unexpected(std::move(layers).error());

  const std::optional<Metadata> metadata = MetadataBeside(path, &losses);
  profile::Recording recording = RecordingOf(*layers, metadata ? &*metadata : nullptr, path);
  recording.source.bytes = file->bytes().size();
  recording.profile.losses = losses;
  return recording;
}

}  // namespace inferprobe::trex
