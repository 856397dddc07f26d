// The tracks of what the delegates of an ETDump reported: one for each instruction that calls one,
// and for each kind of time that the delegate kit noted of it.
//
// The rule that people break: on whose clock a delegate reported is known only when all of its
// reports are. What the kit noted is on the host's, and kept apart from what was not noted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/delegate_note.h"
#include "profile/model.h"
#include "profile/recording.h"

namespace inferprobe::etdump {

class EngineTracks {
 public:
  struct Track {
    uint32_t track = profile::kNone;
    uint64_t reports = 0;
    uint64_t elsewhere = 0;  // which do not touch their call in time
  };

  // Adds to the tracks of `into`, beside the one of the host. Both must outlive it.
  EngineTracks(profile::Profile* into, uint32_t host_track,
               const std::vector<profile::DelegateClock>& clocks)
      : out_(*into), host_track_(host_track), clocks_(clocks) {}

  // `note` of what was reported; nullptr: none. Instructions and clocks beyond what tracks there
  // can be share one, and that is counted.
  Track& Of(int32_t instruction, const profile::DelegateNote* note);
  // Names them, and says which of them are in ticks of a clock that nobody knows.
  void Finish();
  [[nodiscard]] bool empty() const { return tracks_.empty(); }

 private:
  struct Key {
    int32_t instruction = -1;
    bool noted = false;
    profile::Kind kind = profile::Kind::kEngineReported;
    std::string clock;
    auto operator<=>(const Key&) const = default;
  };

  Track& Of(Key key);

  profile::Profile& out_;
  uint32_t host_track_;
  const std::vector<profile::DelegateClock>& clocks_;
  std::map<Key, Track> tracks_;
  // What Of() found last.
  const profile::DelegateNote* last_note_ = nullptr;
  int32_t last_instruction_ = 0;
  Track* last_ = nullptr;
};

}  // namespace inferprobe::etdump
