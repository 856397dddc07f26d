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
#include <span>
#include <unordered_map>
#include <vector>

#include "profile/model.h"

namespace inferprobe::perfetto {

struct SliceEdge {
  int64_t time_ns = 0;
  uint32_t lane = 0;   // index into lanes()
  uint32_t slice = 0;  // index into Profile::slices
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
  std::vector<SliceEdge> Place(const profile::Profile& profile, uint32_t first, uint32_t count,
                               profile::LossCounts& losses);

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
  };
  struct Batch;

  uint32_t LaneOf(uint16_t track, uint32_t ordinal);
  void PlaceSlice(const Batch& batch, uint32_t slice, profile::LossCounts& losses);
  bool PlaceOn(const Batch& batch, uint32_t lane, uint32_t slice, uint32_t parent);
  void Close(const Batch& batch, uint32_t lane, size_t keep);
  static bool FitsPast(const std::vector<Interval>& past, Interval wanted);
  static void Remember(LaneState& state);

  std::vector<Lane> lanes_;
  std::vector<LaneState> states_;                      // beside lanes_
  std::vector<std::vector<uint32_t>> lanes_of_track_;  // by track, by ordinal
  std::unordered_map<uint32_t, uint32_t> moved_;       // slices of this call with ordinal > 0
};

}  // namespace inferprobe::perfetto
