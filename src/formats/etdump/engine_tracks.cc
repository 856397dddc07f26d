#include "formats/etdump/engine_tracks.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "profile/delegate_clock.h"
#include "profile/engine_track.h"

namespace inferprobe::etdump {
namespace {

using profile::Kind;

constexpr size_t kMaxTracks = 0xFFFF;   // Slice::track has 16 bits
constexpr size_t kTracksForOthers = 8;  // those that are shared: one for each kind, noted or not
constexpr int32_t kOtherInstructions = std::numeric_limits<int32_t>::min();

std::string DelegateAt(int32_t instruction) {
  if (instruction == kOtherInstructions) return "other delegates";
  return instruction < 0 ? "DELEGATE_CALL" : fmt::format("DELEGATE_CALL@{}", instruction);
}

}  // namespace

EngineTracks::Track& EngineTracks::Of(int32_t instruction, const profile::DelegateNote* note) {
  if (note == last_note_ && last_ != nullptr && instruction == last_instruction_) return *last_;
  Key key{.instruction = instruction, .clock = {}};
  if (note != nullptr) {
    key = {instruction, true, note->kind, profile::ShortClockName(note->clock)};
  }
  last_note_ = note;
  last_instruction_ = instruction;
  last_ = &Of(std::move(key));
  return *last_;
}

EngineTracks::Track& EngineTracks::Of(Key key) {
  auto found = tracks_.find(key);
  if (found != tracks_.end()) return found->second;
  if (out_.tracks.size() + kTracksForOthers >= kMaxTracks &&
      key.instruction != kOtherInstructions) {
    out_.losses.Add(profile::Loss::kTooLarge);
    return Of({kOtherInstructions, key.noted, key.kind, ""});
  }
  Track track;
  track.track = static_cast<uint32_t>(out_.tracks.size());
  profile::Track row;
  row.type = profile::TrackType::kEngine;
  row.kind = key.kind;
  row.parent = host_track_;
  out_.tracks.push_back(std::move(row));
  return tracks_.emplace(std::move(key), track).first->second;
}

void EngineTracks::Finish() {
  for (auto& [key, track] : tracks_) {
    profile::Track& row = out_.tracks[track.track];
    row.name = DelegateAt(key.instruction);
    // A clock that the user knows is the delegate's own, wherever its times lie.
    row.in_ticks = !key.noted && (track.elsewhere * 2 > track.reports ||
                                  profile::FindDelegateClock(clocks_, row.name) != nullptr);
    const char* detail = row.in_ticks                        ? "ticks of an unknown clock"
                         : key.kind == Kind::kEngineReported ? "start times not measured"
                                                             : key.clock.c_str();
    row.name = profile::NameOfEngineTrack(row.name, key.kind, detail);
  }
}

}  // namespace inferprobe::etdump
