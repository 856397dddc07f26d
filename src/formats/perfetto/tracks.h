// The tracks that a trace describes or uses, and what becomes of them: which of them are one track
// of the model, and on which of them begins and ends pair up.
//
//   Tracks tracks(&strings, &losses);
//   tracks.Describe(message, sequence);                        // a TrackDescriptor
//   const uint32_t track = tracks.ForEvents(tracks.OfUuid(7));  // while reading
//   const TrackPlan plan = tracks.Plan();                      // at the end
//
// The rule that people break: a descriptor may come after the events of its track, and several
// descriptors may speak of one thread. Nothing is known of a track before Plan().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/perfetto/mix.h"
#include "formats/perfetto/track_mark.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

// Texts of the file, repaired where they are not UTF-8; each is counted once.
class Texts {
 public:
  Texts(profile::StringTable* strings, profile::LossCounts* losses)
      : strings_(strings), losses_(losses) {}
  profile::StringId Intern(std::string_view text);
  [[nodiscard]] std::string_view Get(profile::StringId id) const { return strings_->Get(id); }

 private:
  profile::StringTable* strings_;
  profile::LossCounts* losses_;
  std::unordered_set<profile::StringId> repaired_;
};

// By the numbers that Tracks::ForEvents gives out.
struct TrackPlan {
  std::vector<profile::Track> tracks;        // of the model
  std::vector<uint16_t> track_of;            // index into `tracks`
  std::vector<uint32_t> stack_of;            // where its begins and ends pair up
  std::vector<uint32_t> lane_of;             // ordinal of the lane, for tracks of our own
  std::vector<std::vector<uint32_t>> lanes;  // by index into `tracks`: its lanes in order
};

class Tracks {
 public:
  static constexpr uint32_t kMostTracks = 65'535;

  explicit Tracks(Texts* texts) : texts_(texts) {}

  enum class Described : uint8_t { kDamaged, kOnce, kTwice };
  // A TrackDescriptor. kTwice: our writer has described another track under that number before,
  // which it does once in a trace; nothing is changed.
  Described Describe(std::string_view message, uint32_t sequence);

  // Numbers of tracks of the file, made up where nothing was described.
  uint32_t OfUuid(uint64_t uuid);
  uint32_t OfThread(int64_t pid, int64_t tid);

  // The number under which events on this track are kept; kNone: there are too many tracks.
  uint32_t ForEvents(uint32_t slot, bool counter);
  [[nodiscard]] const TrackMark* MarkOf(uint32_t slot) const { return slots_[slot].mark.get(); }
  [[nodiscard]] bool HoldsNotes(uint32_t slot) const { return slots_[slot].notes; }
  [[nodiscard]] bool HoldsRuns(uint32_t slot) const { return slots_[slot].runs; }
  enum class Memory : uint8_t { kNone, kHost, kDevice };
  // Of which memory the samples are allocations.
  [[nodiscard]] Memory MemoryOf(uint32_t slot) const { return slots_[slot].memory; }
  // Whether any track is of our writer's.
  [[nodiscard]] bool any_own() const { return any_own_; }
  // From here on our writer describes no more.
  void EndOwn() { own_ended_ = true; }

  // The counter's value in its unit; nullopt: a difference to a value that is not there.
  std::optional<double> CounterValue(uint32_t slot, uint32_t sequence, uint32_t generation,
                                     double value);

  [[nodiscard]] profile::StringId process_name() const { return process_name_; }
  TrackPlan Plan();

 private:
  enum class Type : uint8_t { kUnknown, kNamed, kProcess, kThread };
  struct Slot {
    uint64_t uuid = 0;
    uint64_t parent = 0;
    int64_t pid = 0;
    int64_t tid = 0;
    int64_t multiplier = 1;
    double latest = 0;  // of an incremental counter
    profile::StringId name = 0;
    profile::StringId unit = 0;
    uint32_t sequence = 0;
    uint32_t generation = 0;
    uint32_t number = profile::kNone;  // among those with events
    Type type = Type::kUnknown;
    bool counter = false;
    bool incremental = false;
    bool notes = false;
    bool runs = false;
    Memory memory = Memory::kNone;
    std::unique_ptr<TrackMark> mark;
  };

  static bool ReadProcess(std::string_view message, Slot& slot, std::string_view& name);
  static bool ReadThread(std::string_view message, Slot& slot, std::string_view& name);
  bool ReadCounter(std::string_view message, Slot& slot);
  void FindProcesses();
  void NameThreads();
  profile::Track ModelTrack(const Slot& slot) const;

  Texts* texts_;
  std::vector<Slot> slots_;
  std::unordered_map<uint64_t, uint32_t, MixedHash> by_uuid_;
  std::unordered_map<uint64_t, uint32_t, MixedHash> by_thread_;  // slots without descriptor
  std::vector<uint32_t> used_;                                   // slots by number
  std::vector<bool> counters_only_;                              // beside used_
  profile::StringId process_name_ = 0;
  bool any_own_ = false;
  bool own_ended_ = false;
};

}  // namespace inferprobe::perfetto
