#include "formats/perfetto/lanes.h"

#include <algorithm>
#include <limits>

#include "formats/perfetto/lane_order.h"

namespace inferprobe::perfetto {
namespace {

using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Slice;

// So far a slice that begins where another one ends looks for what encloses it.
constexpr size_t kDeepest = 512;

int64_t End(const Slice& slice) { return slice.start_ns + slice.dur_ns; }

bool InRange(const Slice& slice) {
  return slice.start_ns >= 0 &&
         slice.start_ns <= std::numeric_limits<int64_t>::max() - slice.dur_ns;
}

bool Usable(const Slice& slice) { return slice.dur_ns >= 0 && InRange(slice); }

bool Encloses(const Profile& profile, uint32_t ancestor, uint32_t index) {
  for (size_t depth = 0; depth < kDeepest && index != kNone; ++depth) {
    index = LanePlanner::Enclosing(profile, index);
    if (index == ancestor) return true;
  }
  return false;
}

}  // namespace

struct LanePlanner::Batch {
  const Profile& profile;
  const RunPlan* runs;
  [[nodiscard]] uint32_t RunOf(uint32_t slice) const {
    return runs == nullptr ? kNone : runs->RunOf(slice);
  }
};

// An engine's track has the host call as parent, which stands elsewhere.
uint32_t LanePlanner::Enclosing(const Profile& profile, uint32_t index) {
  const Slice& slice = profile.slices[index];
  if (slice.parent >= profile.slices.size() || slice.parent == index) return kNone;
  const Slice& parent = profile.slices[slice.parent];
  const bool encloses = parent.track == slice.track && Usable(parent) &&
                        parent.start_ns <= slice.start_ns && End(parent) >= End(slice);
  return encloses ? slice.parent : kNone;
}

std::vector<SliceEdge> LanePlanner::Place(const Profile& profile, uint32_t first, uint32_t count,
                                          profile::LossCounts& losses, const RunPlan* runs) {
  const Batch batch{profile, runs};
  std::vector<uint32_t> order;
  order.reserve(count);
  for (uint32_t i = first; i < first + count; ++i) {
    const Slice& slice = profile.slices[i];
    if (profile.tracks[slice.track].in_ticks) continue;
    if (slice.dur_ns < 0) {
      losses.Add(Loss::kEndBeforeStart);
    } else if (!InRange(slice)) {
      losses.Add(Loss::kTimeOutOfRange);
    } else {
      order.push_back(i);
    }
  }
  SortForLanes(profile, runs, order);

  moved_.clear();
  for (const uint32_t slice : order) PlaceSlice(batch, slice, losses);

  std::vector<SliceEdge> edges;
  edges.reserve(order.size() * 2);
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    Close(batch, lane, 0);
    LaneState& state = states_[lane];
    edges.insert(edges.end(), state.edges.begin(), state.edges.end());
    state.edges.clear();
    Remember(state);
    lanes_of_track_[lanes_[lane].track].free.insert(lanes_[lane].ordinal);
  }
  for (TrackLanes& track : lanes_of_track_) track.busy = {};
  // Each lane's edges are in order already, and stay so: readers sort by time and keep the file's
  // order where times are equal.
  std::stable_sort(edges.begin(), edges.end(),
                   [](const SliceEdge& a, const SliceEdge& b) { return a.time_ns < b.time_ns; });
  return edges;
}

void LanePlanner::PlaceSlice(const Batch& batch, uint32_t slice, profile::LossCounts& losses) {
  const uint32_t parent = Enclosing(batch.profile, slice);
  uint32_t wanted = 0;
  if (const auto found = moved_.find(parent); found != moved_.end()) wanted = found->second;
  uint32_t ordinal = wanted;
  const uint16_t track = batch.profile.slices[slice].track;
  if (!PlaceOn(batch, track, wanted, slice, parent)) {
    ordinal = PlaceBeyond(batch, track, wanted, slice, parent);
    losses.Add(Loss::kOverlapMoved);
  }
  if (ordinal != 0) moved_[slice] = ordinal;
}

// Places the slice on the first lane beyond that one that nothing is open on.
uint32_t LanePlanner::PlaceBeyond(const Batch& batch, uint16_t track, uint32_t beyond,
                                  uint32_t slice, uint32_t parent) {
  const int64_t now = batch.profile.slices[slice].start_ns;
  TrackLanes& lanes = lanes_of_track_[track];
  while (!lanes.busy.empty() && lanes.busy.top().first <= now) {
    const uint32_t ordinal = lanes.busy.top().second;
    lanes.busy.pop();
    if (states_[lanes.lanes[ordinal]].busy_until <= now) lanes.free.insert(ordinal);
  }
  if (parent == kNone) parent = slice;
  for (auto free = lanes.free.upper_bound(beyond); free != lanes.free.end(); ++free) {
    const uint32_t ordinal = *free;
    if (PlaceOn(batch, track, ordinal, slice, parent)) return ordinal;
  }
  const auto ordinal = static_cast<uint32_t>(lanes.lanes.size());
  PlaceOn(batch, track, ordinal, slice, parent);
  return ordinal;
}

// Begins `slice` on a lane if it fits there: into `parent` (kNone: into whatever encloses it;
// itself: into nothing).
bool LanePlanner::PlaceOn(const Batch& batch, uint16_t track, uint32_t ordinal, uint32_t slice,
                          uint32_t parent) {
  const uint32_t lane = LaneOf(track, ordinal);
  LaneState& state = states_[lane];
  const Slice& wanted = batch.profile.slices[slice];
  size_t keep = state.open.size();
  for (; keep > 0; --keep) {
    const uint32_t top = state.open[keep - 1];
    const int64_t end = End(batch.profile.slices[top]);
    if (end > wanted.start_ns) break;
    if (end == wanted.start_ns && Encloses(batch.profile, top, slice)) break;
  }
  const uint32_t top = keep > 0 ? state.open[keep - 1] : kNone;
  if (top != kNone) {
    if (End(wanted) > End(batch.profile.slices[top])) return false;
    if (parent != kNone && parent != top) return false;
    if (parent == kNone) {
      const uint32_t run = batch.RunOf(top);
      if (run != kNone && run != batch.RunOf(slice)) return false;
    }
  }
  if (!FitsPast(state.past, {wanted.start_ns, End(wanted)})) return false;
  Close(batch, lane, keep);
  if (keep == 0) {
    state.fresh.push_back({wanted.start_ns, End(wanted)});
    state.busy_until = End(wanted);
    TrackLanes& lanes = lanes_of_track_[track];
    lanes.free.erase(ordinal);
    lanes.busy.emplace(state.busy_until, ordinal);
  }
  state.open.push_back(slice);
  state.edges.push_back({wanted.start_ns, lane, slice, top, true});
  return true;
}

void LanePlanner::Close(const Batch& batch, uint32_t lane, size_t keep) {
  LaneState& state = states_[lane];
  while (state.open.size() > keep) {
    const uint32_t top = state.open.back();
    state.open.pop_back();
    state.edges.push_back({End(batch.profile.slices[top]), lane, top, kNone, false});
  }
}

// Whether `wanted` lies beside, or encloses, every slice written before. Those stand earlier in
// the file, so at equal times their edges come first: `wanted` must start strictly before what it
// encloses, and end strictly before what follows it.
bool LanePlanner::FitsPast(const std::vector<Interval>& past, Interval wanted) {
  auto at = std::partition_point(past.begin(), past.end(),
                                 [&](const Interval& i) { return i.end <= wanted.start; });
  for (; at != past.end() && at->start <= wanted.end; ++at) {
    if (at->start <= wanted.start || at->end > wanted.end) return false;
  }
  return true;
}

// Adds this call's outermost slices to those of the past, less the ones that they enclose.
void LanePlanner::Remember(LaneState& state) {
  if (state.fresh.empty()) return;
  std::vector<Interval>& past = state.past;
  if (past.empty() || past.back().end <= state.fresh.front().start) {
    past.insert(past.end(), state.fresh.begin(), state.fresh.end());
  } else {
    std::vector<Interval> merged;
    merged.reserve(past.size() + state.fresh.size());
    auto fresh = state.fresh.begin();
    for (const Interval& old : past) {
      for (; fresh != state.fresh.end() && fresh->start < old.start; ++fresh) {
        merged.push_back(*fresh);
      }
      const bool enclosed =
          !merged.empty() && merged.back().end >= old.end && merged.back().start < old.start;
      if (!enclosed) merged.push_back(old);
    }
    merged.insert(merged.end(), fresh, state.fresh.end());
    past = std::move(merged);
  }
  state.fresh.clear();
}

uint32_t LanePlanner::LaneOf(uint16_t track, uint32_t ordinal) {
  if (lanes_of_track_.size() <= track) lanes_of_track_.resize(track + size_t{1});
  std::vector<uint32_t>& lanes = lanes_of_track_[track].lanes;
  while (lanes.size() <= ordinal) {
    const auto lane_ordinal = static_cast<uint32_t>(lanes.size());
    lanes_of_track_[track].free.insert(lane_ordinal);
    lanes.push_back(static_cast<uint32_t>(lanes_.size()));
    lanes_.push_back({track, lane_ordinal});
    states_.emplace_back();
  }
  return lanes[ordinal];
}

}  // namespace inferprobe::perfetto
