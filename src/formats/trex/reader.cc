#include "formats/trex/reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/files.h"
#include "base/saturating.h"
#include "profile/sum_note.h"

namespace inferprobe::trex {
namespace {

using profile::Kind;

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

Kind KindOf(const Metadata* metadata) {
  const bool mean =
      metadata != nullptr && metadata->kind == KindName(Kind::kEngineMeanSinceCompile);
  return mean ? Kind::kEngineMeanSinceCompile : Kind::kEngineReported;
}

int64_t AverageNs(const Layer& layer) {
  if (layer.calls == 0) return 0;
  return layer.total_ns / static_cast<int64_t>(layer.calls);
}

}  // namespace

bool LooksLikeProfile(std::string_view head, uint64_t) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  if (TakeChar(head, '{')) return head.starts_with("\"Layers\"");
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
  profile::Track track;
  track.type = profile::TrackType::kEngine;
  track.kind = KindOf(metadata);
  track.name = "layers";
  if (metadata != nullptr && !metadata->engine.empty()) track.name += " of " + metadata->engine;
  if (metadata != nullptr && !metadata->engine_id.empty()) track.name += " " + metadata->engine_id;
  profile.tracks.push_back(std::move(track));

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
  profile::LossCounts losses;
  auto layers = ParseProfile(file->bytes(), path, &losses);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  if (!layers) return tl::unexpected(std::move(layers).error());

  Metadata metadata;
  const std::string beside = MetadataPath(path);
  const bool described = base::FileExists(beside);
  if (described) {
    auto text = base::ReadFile(beside);
    if (!text) return tl::unexpected(std::move(text).error());
    auto parsed = ParseMetadata(*text, beside);
    if (!parsed) return tl::unexpected(std::move(parsed).error());
    metadata = *std::move(parsed);
  }
  profile::Recording recording = RecordingOf(*layers, described ? &metadata : nullptr, path);
  recording.source.bytes = file->bytes().size();
  recording.profile.losses = losses;
  return recording;
}

}  // namespace inferprobe::trex
