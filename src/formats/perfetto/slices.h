// Begins and ends of slices, in the order of the file, and what becomes of them: the model's
// slices, in order of time, each with its parent, those of a run together.
//
//   Slices slices(&profile);
//   slices.Begin(event);  slices.End(time, track);       // while reading
//   slices.Assemble(tracks.Plan());                      // once, at the end
//
// The rule that people break: neither time nor place in the file says alone what a slice is in.
// Begins and ends pair up on a stack for each track, by time, and by the file's order where times
// are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/perfetto/tracks.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

// What our writer says of a slice that is a run.
struct RunFacts {
  uint32_t index = 0;
  profile::RunMode mode = profile::RunMode::kLatency;
  uint32_t group = 0;
  uint16_t process = 0;
  bool incomplete = false;
};

struct SliceEvent {
  int64_t time_ns = 0;
  uint32_t track = 0;  // Tracks::ForEvents
  profile::StringId name = 0;
  profile::Category category = profile::Category::kScope;
  uint32_t args = profile::kNone;
  std::optional<RunFacts> run;
  std::optional<int64_t> call_ns;  // of an engine's slice: start of its delegate call; -1: none
  bool lost = false;               // something that it refers to is missing: only pairs up
};

class Slices {
 public:
  explicit Slices(profile::Profile* profile) : profile_(profile) {}

  void Begin(const SliceEvent& event);
  void End(int64_t time_ns, uint32_t track);
  // A slice whose length is known already.
  void Complete(const SliceEvent& event, int64_t dur_ns);
  // One of a track in ticks; event.time_ns is where it is shown.
  void Ticks(const SliceEvent& event, int64_t start, int64_t ticks);

  // Fills Profile::tracks, slices, runs.
  void Assemble(TrackPlan plan);

 private:
  // Of Slice::flags, until Assemble has done with them.
  enum Flag : uint8_t { kLost = 1, kComplete = 2, kInTicks = 4 };
  struct EndEvent {
    int64_t time_ns;
    uint32_t begins_before;  // in the file
    uint32_t track;
  };
  struct TicksValue {
    int64_t start;
    int64_t ticks;
  };
  struct RunSlice {
    uint32_t slice;
    RunFacts facts;
  };
  struct CallHint {
    uint32_t slice;
    int64_t call_ns;
  };
  struct Stack {
    std::vector<uint32_t> open;
    size_t begun = 0;  // of which await an end
  };
  struct Call {
    uint32_t track;
    int32_t instruction;
    int64_t start_ns;
    uint32_t slice;
    auto operator<=>(const Call&) const = default;
  };

  profile::Slice* Add(const SliceEvent& event, uint8_t flags);
  [[nodiscard]] bool IsDropped(const profile::Slice& slice) const {
    return (slice.flags & kLost) != 0 || ((slice.flags & kInTicks) == 0 && slice.dur_ns < 0);
  }
  [[nodiscard]] bool IsEngine(const profile::Slice& slice) const;

  void PairUp(const TrackPlan& plan);
  void Open(const TrackPlan& plan, std::vector<Stack>& stacks, uint32_t index);
  void Close(std::vector<Stack>& stacks, const EndEvent& end, uint32_t stack);
  void CloseCompleted(Stack& stack, int64_t time_ns);
  void LeaveOutDropped();
  void FindParentsOfMoved();
  void FindDelegateCalls();
  std::vector<uint32_t> Places();
  void MoveTo(std::vector<uint32_t>& place);

  profile::Profile* profile_;
  std::vector<EndEvent> ends_;
  std::vector<TicksValue> ticks_;
  std::vector<RunSlice> runs_;
  std::vector<CallHint> hints_;
  bool begins_in_order_ = true;
  bool ends_in_order_ = true;

  std::vector<uint32_t> order_;  // slices by time
  // Slices on lanes beside their track, each with slices of the other lanes that may enclose it.
  std::vector<std::pair<uint32_t, uint32_t>> moved_;
};

}  // namespace inferprobe::perfetto
