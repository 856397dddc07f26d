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
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formats/perfetto/tracks.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

// What our writer says of a run, on its own slice or on a mark.
struct RunFacts {
  uint32_t index = 0;
  profile::RunMode mode = profile::RunMode::kLatency;
  uint32_t group = 0;
  uint16_t process = 0;
  bool incomplete = false;
  profile::Loss why = profile::Loss::kIncompleteRun;
  std::optional<int64_t> start_ns;  // where that is not where it stands
  std::optional<int64_t> dur_ns;
  std::optional<uint32_t> slices;  // how many it has
};

struct SliceEvent {
  int64_t time_ns = 0;
  uint32_t track = 0;  // Tracks::ForEvents
  profile::StringId name = 0;
  profile::Category category = profile::Category::kScope;
  uint32_t args = profile::kNone;
  std::optional<RunFacts> run;       // the slice is that run
  std::optional<int64_t> member_of;  // number of the run that it is in; -1: in none
  std::optional<int64_t> call_ns;    // of an engine's slice: start of its delegate call; -1: none
  // -1: what is open around it on its track does not hold it; 1, ...: the slice that began so many
  // before it does; -2, ...: the one that begins 1, ... behind it.
  int64_t parent = 0;
  bool lost = false;  // something that it refers to is missing: only pairs up
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
  // One whose slice is not known yet: `parent` as SliceEvent has it.
  void AddAllocation(profile::Allocation allocation, int64_t parent);
  // A run that is no slice.
  void MarkRun(const RunFacts& facts, int64_t time_ns);
  // Here the file has lost something: whatever is around it is not whole.
  void Damage();

  // Fills Profile::tracks, slices, runs.
  void Assemble(TrackPlan plan);
  // Starts of whole methods beside which something was lost, for a file that marks no runs.
  [[nodiscard]] const std::vector<int64_t>& damaged_methods() const { return damaged_methods_; }

 private:
  // Of run_of_: the file says that it is in no run; kNone: it says nothing.
  static constexpr uint32_t kOutside = profile::kNone - 1;
  // Of Slice::flags, until Assemble has done with them.
  enum Flag : uint8_t {
    kLost = 1,
    kComplete = 2,
    kInTicks = 4,
    kNoParent = 8,
    kOverlaps = 16,
    kFarParent = 32
  };
  struct EndEvent {
    int64_t time_ns;
    uint32_t begins_before;  // in the file
    uint32_t track;
  };
  struct TicksValue {
    int64_t start;
    int64_t ticks;
  };
  // A run of the file; its place in runs_ is what run_of_ speaks of.
  struct MarkedRun {
    RunFacts facts;
    bool known = false;               // whether there are facts
    uint32_t slice = profile::kNone;  // its own
    uint32_t members = 0;
    uint32_t next = 0;  // where its next slice goes
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    bool placed = false;
    bool damaged = false;
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
  using CallOfRun = std::tuple<uint32_t, Call>;

  profile::Slice* Add(const SliceEvent& event, uint8_t flags);
  [[nodiscard]] bool IsDropped(const profile::Slice& slice) const {
    return (slice.flags & kLost) != 0 || ((slice.flags & kInTicks) == 0 && slice.dur_ns < 0);
  }
  [[nodiscard]] bool IsEngine(const profile::Slice& slice) const;

  void PairUp(const TrackPlan& plan);
  void Open(const TrackPlan& plan, std::vector<Stack>& stacks, uint32_t index);
  void Close(std::vector<Stack>& stacks, const EndEvent& end, uint32_t stack);
  void CloseCompleted(Stack& stack, int64_t time_ns);
  void LeaveOverlapped(Stack& stack, profile::Slice& slice);
  void CountOverlap(profile::Slice& slice);
  void LeaveOutDropped();
  void FindParentsOfMoved();
  void FindParentsOfRegions();
  void FindLaunches();
  void PlaceAllocations(const std::vector<uint32_t>& place);
  void FindDelegateCalls();
  [[nodiscard]] uint32_t ToldCall(uint32_t slice) const;
  // In run_places.cc: what belongs to which run, and where it stands.
  uint32_t RunNumbered(int64_t number);
  uint32_t RunOfSlice(const RunFacts& facts, uint32_t slice);
  void SetRun(uint32_t slice, uint32_t run);
  [[nodiscard]] uint32_t RunOf(uint32_t slice) const {
    return run_of_.empty() ? profile::kNone : run_of_[slice];
  }
  void FindRuns();
  void SortByPlace();
  void FindMembers();
  void FindDamagedRuns();
  void FindDamagedMethods();
  [[nodiscard]] profile::Loss CauseOfDamage() const;
  profile::Run RunFrom(const MarkedRun& marked) const;
  std::vector<uint32_t> Places();
  void MoveTo(std::vector<uint32_t>& place);

  profile::Profile* profile_;
  std::vector<EndEvent> ends_;
  std::vector<TicksValue> ticks_;
  std::vector<MarkedRun> runs_;
  std::unordered_map<int64_t, uint32_t> run_numbered_;  // the file's number -> place in runs_
  std::vector<uint32_t> run_of_;  // by slice: place in runs_, kNone, or kOutside; or empty
  std::vector<uint32_t> damage_;  // slices that had begun when something was lost
  std::vector<int64_t> damaged_methods_;
  std::vector<CallHint> hints_;
  std::vector<std::pair<uint32_t, uint32_t>> far_parents_;  // slice -> parent on another lane
  bool begins_in_order_ = true;
  bool ends_in_order_ = true;

  std::vector<uint32_t> order_;  // slices by time
  // Slices on lanes beside their track, each with slices of the other lanes that may enclose it.
  std::vector<std::pair<uint32_t, uint32_t>> moved_;
};

}  // namespace inferprobe::perfetto
