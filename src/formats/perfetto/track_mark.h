// The description that our writer gives to its tracks: what Perfetto's own fields cannot say of a
// profile::Track. By it our reader tells our tracks from those of other tools, and which of them
// were one track before they were laid out.
//
//   inferprobe track=1 lane=0 type=engine kind=engine_reported pid=77 tid=0 thread=0 name=3
//
// The rule that people break: it is text of a file like any other. Nothing in it is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/model.h"

namespace inferprobe::perfetto {

struct TrackMark {
  uint32_t track = 0;  // index into Profile::tracks, in the process that wrote it
  uint32_t lane = 0;   // 0: the track itself, 1, ...: beside it, for what overlapped
  profile::TrackType type = profile::TrackType::kThread;
  profile::Kind kind = profile::Kind::kHostWall;
  int64_t pid = 0;
  int64_t tid = 0;
  uint32_t thread = profile::kNone;  // Track::parent
  size_t name_bytes = 0;             // of the written name; the rest was appended to it
  bool in_ticks = false;
};

// The event "notes" stands on a track of this description.
constexpr std::string_view kNotesMark = "inferprobe notes";
// Instants of runs that are no slices stand on a track of this one.
constexpr std::string_view kRunsMark = "inferprobe runs";
// Counters of allocated bytes, of which each sample is an allocation with its own arguments.
constexpr std::string_view kAllocationsMark = "inferprobe allocations";
constexpr std::string_view kDeviceAllocationsMark = "inferprobe device allocations";

std::string MarkText(const TrackMark& mark);
// nullopt: not ours.
std::optional<TrackMark> ParseMark(std::string_view text);

}  // namespace inferprobe::perfetto
