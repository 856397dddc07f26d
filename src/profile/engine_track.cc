#include "profile/engine_track.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace inferprobe::profile {
namespace {

constexpr size_t kMostClockColumns = 40;

}  // namespace

std::string_view DelegateOfTrack(std::string_view track_name) {
  size_t last = std::string_view::npos;
  for (const Kind kind : {Kind::kHostCpu, Kind::kDevice, Kind::kEngineReported}) {
    const size_t at = track_name.rfind(fmt::format(" ({}", KindText(kind)));
    if (at != std::string_view::npos)
      last = last == std::string_view::npos ? at : std::max(last, at);
  }
  return track_name.substr(0, last);
}

std::string NameOfEngineTrack(std::string_view delegate, Kind kind, std::string_view detail) {
  return fmt::format("{} ({}{}{})", delegate, KindText(kind), detail.empty() ? "" : ", ", detail);
}

std::string ShortClockName(std::string_view clock) {
  return base::CutToWidth(base::TerminalText(clock), kMostClockColumns);
}

}  // namespace inferprobe::profile
