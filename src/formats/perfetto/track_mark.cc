#include "formats/perfetto/track_mark.h"

#include <fmt/format.h>

#include <charconv>

namespace inferprobe::perfetto {
namespace {

using profile::Kind;
using profile::TrackType;

constexpr std::string_view kStart = "inferprobe track=";

const char* TypeName(TrackType type) {
  switch (type) {
    case TrackType::kThread:
      return "thread";
    case TrackType::kEngine:
      return "engine";
    case TrackType::kCounter:
      return "counter";
    case TrackType::kMeasure:
      return "measure";
    case TrackType::kRegions:
      return "regions";
    case TrackType::kParticipant:
      return "participant";
  }
  return "thread";
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseType(std::string_view text, TrackType& type) {
  for (const TrackType each : {TrackType::kThread, TrackType::kEngine, TrackType::kCounter,
                               TrackType::kMeasure, TrackType::kRegions, TrackType::kParticipant}) {
    if (text != TypeName(each)) continue;
    type = each;
    return true;
  }
  return false;
}

bool ParseKind(std::string_view text, Kind& kind) {
  for (const Kind each : {Kind::kHostWall, Kind::kHostCpu, Kind::kDevice, Kind::kEngineReported,
                          Kind::kEngineMeanSinceCompile, Kind::kDerived}) {
    if (text != profile::KindName(each)) continue;
    kind = each;
    return true;
  }
  return false;
}

bool ParseField(std::string_view key, std::string_view value, TrackMark& mark) {
  if (key == "track") return ParseNumber(value, mark.track);
  if (key == "lane") return ParseNumber(value, mark.lane);
  if (key == "type") return ParseType(value, mark.type);
  if (key == "kind") return ParseKind(value, mark.kind);
  if (key == "pid") return ParseNumber(value, mark.pid);
  if (key == "tid") return ParseNumber(value, mark.tid);
  if (key == "thread") return ParseNumber(value, mark.thread);
  if (key == "name") return ParseNumber(value, mark.name_bytes);
  if (key == "ticks") return mark.in_ticks = true;
  return true;  // of a later version
}

}  // namespace

std::string MarkText(const TrackMark& mark) {
  std::string text = fmt::format("{}{} lane={} type={} kind={} pid={} tid={} name={}", kStart,
                                 mark.track, mark.lane, TypeName(mark.type),
                                 profile::KindName(mark.kind), mark.pid, mark.tid, mark.name_bytes);
  if (mark.thread != profile::kNone) text += fmt::format(" thread={}", mark.thread);
  if (mark.in_ticks) text += " ticks=unknown";
  return text;
}

std::optional<TrackMark> ParseMark(std::string_view text) {
  if (!text.starts_with(kStart)) return std::nullopt;
  text.remove_prefix(kStart.find(' ') + 1);
  TrackMark mark;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!ParseField(field.substr(0, equals), field.substr(equals + 1), mark)) return std::nullopt;
  }
  return mark;
}

}  // namespace inferprobe::perfetto
