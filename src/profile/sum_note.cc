#include "profile/sum_note.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "profile/delegate_note.h"

namespace inferprobe::profile {
namespace {

// Names of types and executions are cut to it, so that also escaped they fit a note.
constexpr size_t kLongestText = 256;
constexpr std::string_view kRunningMean = "running_mean";

std::string Text(const nlohmann::json& note, const char* key) {
  const auto member = note.find(key);
  return member != note.end() && member->is_string() ? member->get<std::string>() : "";
}

}  // namespace

std::string WriteSumNote(const SumNote& note) {
  base::JsonWriter json(0);
  json.BeginObject();
  json.Key("kind").String(KindName(note.kind));
  json.Key("samples").Uint(note.calls);
  json.Key("total_ns").Int(note.total_ns);
  if (note.median_ns) json.Key("median_ns").Number(*note.median_ns);
  if (!note.type.empty()) json.Key("type").String(note.type.substr(0, kLongestText));
  if (!note.exec.empty()) json.Key("exec").String(note.exec.substr(0, kLongestText));
  if (note.of_running_mean) json.Key("of").String(kRunningMean);
  if (note.error_ns) json.Key("error_ns").Int(*note.error_ns);
  json.EndObject();
  return std::move(json).Take();
}

std::optional<SumNote> ParseSumNote(std::string_view metadata) {
  if (metadata.size() > kLongestNote || metadata.find("\"samples\"") == std::string_view::npos) {
    return std::nullopt;
  }
  const nlohmann::json parsed = nlohmann::json::parse(metadata, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  const auto samples = parsed.find("samples");
  const auto total = parsed.find("total_ns");
  if (samples == parsed.end() || total == parsed.end() || !samples->is_number_unsigned() ||
      !total->is_number_unsigned()) {
    return std::nullopt;
  }
  SumNote note;
  const std::optional<Kind> kind = MeasuredKind(Text(parsed, "kind"));
  if (!kind) return std::nullopt;
  note.kind = *kind;
  note.calls = samples->get<uint64_t>();
  const auto total_ns = total->get<uint64_t>();
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (note.calls > kMost || total_ns > kMost) return std::nullopt;
  note.total_ns = static_cast<int64_t>(total_ns);
  if (const auto median = parsed.find("median_ns"); median != parsed.end() && median->is_number()) {
    const auto median_ns = median->get<double>();
    if (!(median_ns >= 0 && median_ns <= kLargestFigure)) return std::nullopt;
    note.median_ns = median_ns;
  }
  note.type = Text(parsed, "type");
  note.exec = Text(parsed, "exec");
  note.of_running_mean = Text(parsed, "of") == kRunningMean;
  if (const auto error = parsed.find("error_ns");
      error != parsed.end() && error->is_number_unsigned() && error->get<uint64_t>() <= kMost) {
    note.error_ns = static_cast<int64_t>(error->get<uint64_t>());
  }
  return note;
}

std::optional<SumNote> SumNoteOf(const Profile& profile, const Slice& slice) {
  if (slice.track >= profile.tracks.size() || slice.args >= profile.args.size()) {
    return std::nullopt;
  }
  const TrackType type = profile.tracks[slice.track].type;
  if (type != TrackType::kEngine && type != TrackType::kMeasure) return std::nullopt;
  const uint32_t metadata = profile.args[slice.args].metadata;
  return metadata < profile.metadata.size() ? ParseSumNote(profile.metadata[metadata])
                                            : std::nullopt;
}

}  // namespace inferprobe::profile
