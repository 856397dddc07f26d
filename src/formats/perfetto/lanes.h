// Lays slices out on lanes, where a lane is one track of the written file: on a lane, slices nest
// or follow each other, and never overlap otherwise. Perfetto has begin and end events only, and
// pairs them by a stack for each track: an overlap there would silently bend both slices.
//
//   LanePlanner planner;
//   for (const SliceEdge& edge : planner.Place(profile, first, count, losses)) { ... }
//   planner.lanes()[edge.lane]    // the lane's track, and how many lanes of it stand before it
//
// The rule that people break: times alone do not say what nests in what. A slice that starts, or
// ends, at the same nanosecond as another is its child only if Slice::parent says so.
#pragma once

#include <cstdint>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/perfetto/run_plan.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

struct SliceEdge {
  int64_t time_ns = 0;
  uint32_t lane = 0;   // index into lanes()
  uint32_t slice = 0;  // index into Profile::slices
  // Of a begin: the slice that is open around it on its lane; kNone: it is the outermost there.
  uint32_t inside = profile::kNone;
  bool begin = false;
};

struct Lane {
  uint16_t track = 0;
  uint32_t ordinal = 0;  // 0: the track itself; 1, ...: beside it, for what overlapped
};

class LanePlanner {
 public:
  // The slices [first, first + count) as begins and ends in order of time, on each lane properly
  // nested, also with all slices placed by earlier calls. A slice may start before slices of an
  // earlier call, if it encloses them (a scope that was open while its children were drained).
  // Counts what had to be moved to another lane, and what is left out: ends before starts, and
  // times below zero or beyond 63 bits. Slices in ticks are no times, and have no place on a lane.
  // `runs`: a slice of one run never lies in a slice of another.
  std::vector<SliceEdge> Place(const profile::Profile& profile, uint32_t first, uint32_t count,
                               profile::LossCounts& losses, const RunPlan* runs = nullptr);

  // What encloses a slice on its own track, by Slice::parent; kNone: nothing, or the profile
  // contradicts itself.
  static uint32_t Enclosing(const profile::Profile& profile, uint32_t slice);

  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }

 private:
  struct Interval {
    int64_t start = 0;
    int64_t end = 0;
  };
  struct LaneState {
    std::vector<Interval> past;    // outermost slices of earlier calls, disjoint, in order
    std::vector<Interval> fresh;   // those of this call
    std::vector<uint32_t> open;    // stack of slices
    std::vector<SliceEdge> edges;  // of this call
    int64_t busy_until = 0;        // end of its outermost slice
  };
  // Lanes of a track by ordinal, and which of them nothing is open on: a track may have as many
  // lanes as slices.
  struct TrackLanes {
    std::vector<uint32_t> lanes;
    std::set<uint32_t> free;
    std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>,
                        std::greater<>>
        busy;  // by when they end
  };
  struct Batch;

  uint32_t LaneOf(uint16_t track, uint32_t ordinal);
  void PlaceSlice(const Batch& batch, uint32_t slice, profile::LossCounts& losses);
  bool PlaceOn(const Batch& batch, uint16_t track, uint32_t ordinal, uint32_t slice,
               uint32_t parent);
  uint32_t PlaceBeyond(const Batch& batch, uint16_t track, uint32_t beyond, uint32_t slice,
                       uint32_t parent);
  void Close(const Batch& batch, uint32_t lane, size_t keep);
  static bool FitsPast(const std::vector<Interval>& past, Interval wanted);
  static void Remember(LaneState& state);

  std::vector<Lane> lanes_;
  std::vector<LaneState> states_;                 // beside lanes_
  std::vector<TrackLanes> lanes_of_track_;        // by track
  std::unordered_map<uint32_t, uint32_t> moved_;  // slices of this call with ordinal > 0
};

}  // namespace inferprobe::perfetto
