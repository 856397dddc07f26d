#include "formats/perfetto/slices.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace inferprobe::perfetto {

using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Slice;
using profile::TrackType;

namespace {

// So far a slice that was moved to a lane beside its track looks for what encloses it.
constexpr size_t kDeepest = 512;
constexpr size_t kMostLanes = 16;

int64_t EndOf(const Slice& slice) { return slice.start_ns + slice.dur_ns; }

bool Contains(const Slice& outer, const Slice& inner) {
  return outer.start_ns <= inner.start_ns && EndOf(outer) >= EndOf(inner);
}

}  // namespace

Slice* Slices::Add(const SliceEvent& event, uint8_t flags) {
  std::vector<Slice>& slices = profile_->slices;
  if (slices.size() >= kNone - 1) {
    profile_->losses.Add(Loss::kTooLarge);
    return nullptr;
  }
  const auto index = static_cast<uint32_t>(slices.size());
  if (!slices.empty() && slices.back().start_ns > event.time_ns) begins_in_order_ = false;
  if (event.run) {
    SetRun(index, RunOfSlice(*event.run, index));
  } else if (event.member_of) {
    SetRun(index, *event.member_of < 0 ? kOutside : RunNumbered(*event.member_of));
  } else if (!run_of_.empty()) {
    SetRun(index, kNone);
  }
  if (event.call_ns) hints_.push_back({index, *event.call_ns});
  Slice slice;
  slice.start_ns = event.time_ns;
  slice.dur_ns = -1;
  slice.name = event.name;
  slice.track = static_cast<uint16_t>(event.track);
  slice.category = event.category;
  slice.flags =
      static_cast<uint8_t>(flags | (event.lost ? kLost : 0) | (event.parent == -1 ? kNoParent : 0));
  if (event.parent > 0 && event.parent <= int64_t{index}) {
    slice.flags |= kFarParent;
    far_parents_.emplace_back(index, index - static_cast<uint32_t>(event.parent));
  } else if (event.parent < -1 && event.parent > -int64_t{kNone - index}) {
    slice.flags |= kFarParent;
    far_parents_.emplace_back(index, index + static_cast<uint32_t>(-1 - event.parent));
  }
  slice.args = event.args;
  return &slices.emplace_back(slice);
}

void Slices::Begin(const SliceEvent& event) { Add(event, 0); }

void Slices::Complete(const SliceEvent& event, int64_t dur_ns) {
  if (dur_ns < 0) {
    profile_->losses.Add(Loss::kEndBeforeStart);
  } else if (dur_ns > std::numeric_limits<int64_t>::max() - event.time_ns) {
    profile_->losses.Add(Loss::kTimeOutOfRange);
  } else if (Slice* slice = Add(event, kComplete); slice != nullptr) {
    slice->dur_ns = dur_ns;
  }
}

void Slices::Ticks(const SliceEvent& event, int64_t start, int64_t ticks) {
  // It keeps its place among what others count by.
  const bool backwards = ticks < 0;
  if (backwards) profile_->losses.Add(Loss::kEndBeforeStart);
  Slice* slice = Add(event, static_cast<uint8_t>(kInTicks | (backwards ? kLost : 0)));
  if (slice == nullptr) return;
  slice->dur_ns = static_cast<int64_t>(ticks_.size());  // until they are in their place
  ticks_.push_back({start, ticks});
}

void Slices::End(int64_t time_ns, uint32_t track) {
  if (!ends_.empty() && ends_.back().time_ns > time_ns) ends_in_order_ = false;
  ends_.push_back({time_ns, static_cast<uint32_t>(profile_->slices.size()), track});
}

bool Slices::IsEngine(const Slice& slice) const {
  return profile_->tracks[slice.track].type == TrackType::kEngine;
}

void Slices::Assemble(TrackPlan plan) {
  order_.resize(profile_->slices.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto start = [this](uint32_t index) { return profile_->slices[index].start_ns; };
  if (!begins_in_order_) {
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return start(a) != start(b) ? start(a) < start(b) : a < b;
    });
  }
  if (!ends_in_order_) {
    std::sort(ends_.begin(), ends_.end(), [](const EndEvent& a, const EndEvent& b) {
      return std::tie(a.time_ns, a.begins_before) < std::tie(b.time_ns, b.begins_before);
    });
  }
  PairUp(plan);
  ends_ = {};
  for (Slice& slice : profile_->slices) slice.track = plan.track_of[slice.track];
  profile_->tracks = std::move(plan.tracks);
  LeaveOutDropped();
  FindParentsOfMoved();
  FindParentsOfRegions();
  FindLaunches();
  FindDelegateCalls();
  FindRuns();
  std::vector<uint32_t> place = Places();
  order_ = {};
  PlaceAllocations(place);
  MoveTo(place);
}

void Slices::PairUp(const TrackPlan& plan) {
  std::vector<Stack> stacks(plan.stack_of.size());
  auto end = ends_.cbegin();
  const auto close_until = [&](int64_t time_ns, uint32_t begin) {
    for (; end != ends_.cend(); ++end) {
      if (end->time_ns > time_ns) return;
      if (end->time_ns == time_ns && end->begins_before > begin) return;
      Close(stacks, *end, plan.stack_of[end->track]);
    }
  };
  for (const uint32_t index : order_) {
    close_until(profile_->slices[index].start_ns, index);
    Open(plan, stacks, index);
  }
  close_until(std::numeric_limits<int64_t>::max(), kNone);
  for (const Stack& stack : stacks) {
    uint64_t unfinished = 0;
    for (const uint32_t index : stack.open) {
      const Slice& slice = profile_->slices[index];
      if (slice.dur_ns >= 0 || (slice.flags & kLost) != 0) continue;
      ++unfinished;
      damage_.push_back(index);
    }
    profile_->losses.Add(Loss::kUnfinishedSlice, unfinished);
  }
}

void Slices::Open(const TrackPlan& plan, std::vector<Stack>& stacks, uint32_t index) {
  Slice& slice = profile_->slices[index];
  if ((slice.flags & kInTicks) != 0) return;
  const uint32_t track = slice.track;
  Stack& stack = stacks[plan.stack_of[track]];
  CloseCompleted(stack, slice.start_ns);
  LeaveOverlapped(stack, slice);
  if (!stack.open.empty()) {
    const uint32_t around = stack.open.back();
    if ((slice.flags & kNoParent) == 0) slice.parent = around;
    const bool engine = plan.tracks[plan.track_of[track]].type == TrackType::kEngine;
    if (!engine && RunOf(index) == kNone && RunOf(around) != kNone) run_of_[index] = RunOf(around);
  } else if ((slice.flags & kFarParent) != 0) {
    const auto parent = std::lower_bound(far_parents_.begin(), far_parents_.end(),
                                         std::pair<uint32_t, uint32_t>(index, 0));
    // One that begins later is never on the same track.
    const uint32_t outer = parent->second < index ? parent->second : index;
    const uint16_t other = profile_->slices[outer].track;
    if (outer != index && plan.track_of[other] == plan.track_of[track]) moved_.push_back(*parent);
  } else if (const uint32_t lane = plan.lane_of[track];
             lane != 0 && (slice.flags & kNoParent) == 0) {
    const std::vector<uint32_t>& lanes = plan.lanes[plan.track_of[track]];
    for (size_t i = 0; i < lanes.size() && i < kMostLanes && plan.lane_of[lanes[i]] < lane; ++i) {
      const Stack& other = stacks[plan.stack_of[lanes[i]]];
      if (!other.open.empty()) moved_.emplace_back(index, other.open.back());
    }
  }
  stack.open.push_back(index);
  if ((slice.flags & kComplete) == 0) ++stack.begun;
}

// Takes slices of known length off the stack that have ended by now.
void Slices::CloseCompleted(Stack& stack, int64_t time_ns) {
  while (!stack.open.empty()) {
    const Slice& top = profile_->slices[stack.open.back()];
    if ((top.flags & kComplete) == 0 || EndOf(top) > time_ns) return;
    stack.open.pop_back();
  }
}

// Takes slices of known length off the stack that end inside this one: it is not part of them.
void Slices::LeaveOverlapped(Stack& stack, Slice& slice) {
  if ((slice.flags & kComplete) == 0) return;
  while (!stack.open.empty()) {
    const Slice& top = profile_->slices[stack.open.back()];
    if ((top.flags & kComplete) == 0 || EndOf(top) >= EndOf(slice)) return;
    CountOverlap(slice);
    stack.open.pop_back();
  }
}

void Slices::CountOverlap(Slice& slice) {
  if ((slice.flags & kOverlaps) != 0) return;
  slice.flags |= kOverlaps;
  profile_->losses.Add(Loss::kOverlap);
}

void Slices::Close(std::vector<Stack>& stacks, const EndEvent& end, uint32_t stack_index) {
  Stack& stack = stacks[stack_index];
  if (stack.begun == 0) {
    profile_->losses.Add(Loss::kUnbalancedEnd);
    damage_.push_back(end.begins_before);
    return;
  }
  // What is of known length, and reaches beyond what it was begun in, stands beside that.
  size_t at = stack.open.size();
  while ((profile_->slices[stack.open[at - 1]].flags & kComplete) != 0) --at;
  const uint32_t closed = stack.open[at - 1];
  Slice& slice = profile_->slices[closed];
  slice.dur_ns = end.time_ns - slice.start_ns;
  --stack.begun;
  for (; at < stack.open.size(); ++at) {
    Slice& inner = profile_->slices[stack.open[at]];
    if (EndOf(inner) <= end.time_ns || inner.parent != closed) continue;
    inner.parent = slice.parent;
    CountOverlap(inner);
  }
  while (stack.open.back() != closed) stack.open.pop_back();
  stack.open.pop_back();
  // The reverse: it ends behind slices of known length that it was begun in. These are taken off
  // the stack by the next begin, so each is passed once.
  while (slice.parent != kNone) {
    const Slice& outer = profile_->slices[slice.parent];
    if ((outer.flags & kComplete) == 0 || EndOf(outer) >= end.time_ns) break;
    CountOverlap(slice);
    slice.parent = outer.parent;
  }
}

// What is inside a slice that is left out is inside what that one is in.
void Slices::LeaveOutDropped() {
  std::vector<Slice>& slices = profile_->slices;
  for (const uint32_t index : order_) {
    uint32_t& parent = slices[index].parent;
    if (parent != kNone && IsDropped(slices[parent])) parent = slices[parent].parent;
  }
}

void Slices::FindParentsOfMoved() {
  std::vector<Slice>& slices = profile_->slices;
  for (const auto& [index, candidate] : moved_) {
    Slice& slice = slices[index];
    if (IsDropped(slice)) continue;
    const uint32_t run = RunOf(index);
    // Where it is told which run a slice is in, what it is in is of that run, or of none.
    const auto may_enclose = [&](uint32_t outer) {
      return !IsDropped(slices[outer]) && Contains(slices[outer], slice) &&
             (run == kNone || RunOf(outer) == run || RunOf(outer) >= kOutside);
    };
    uint32_t outer = candidate;
    for (size_t depth = 0; depth < kDeepest && outer != kNone && !may_enclose(outer); ++depth) {
      outer = slices[outer].parent;
    }
    if (outer == kNone || !may_enclose(outer)) continue;
    // Of what encloses it on several lanes, the innermost.
    if (slice.parent == kNone || slices[slice.parent].start_ns <= slices[outer].start_ns) {
      slice.parent = outer;
    }
  }
  moved_ = {};
}

// A region is in an operator of the host, a participant's part in a region. Both stand on tracks of
// their own, where what is around them says nothing: the file says it, or nobody does.
void Slices::FindParentsOfRegions() {
  std::vector<Slice>& slices = profile_->slices;
  for (const uint32_t index : order_) {
    Slice& slice = slices[index];
    const TrackType type = profile_->tracks[slice.track].type;
    if (type != TrackType::kRegions && type != TrackType::kParticipant) continue;
    slice.parent = kNone;
    if ((slice.flags & kFarParent) == 0) continue;
    const auto told = std::lower_bound(far_parents_.begin(), far_parents_.end(),
                                       std::pair<uint32_t, uint32_t>(index, 0));
    uint32_t outer = told->second;
    if (outer >= slices.size()) continue;
    const TrackType outer_type = profile_->tracks[slices[outer].track].type;
    if (type == TrackType::kParticipant) {
      const bool is_region = outer_type == TrackType::kRegions &&
                             slices[outer].category == Category::kRegion &&
                             !IsDropped(slices[outer]);
      if (is_region) slice.parent = outer;
      continue;
    }
    const bool on_host = outer_type == TrackType::kThread || outer_type == TrackType::kMeasure;
    if (!on_host || (slices[outer].flags & kInTicks) != 0) continue;
    if (IsDropped(slices[outer])) outer = slices[outer].parent;
    slice.parent = outer;
  }
}

// Work on a device belongs to what launched it on the host, which the file says.
void Slices::FindLaunches() {
  std::vector<Slice>& slices = profile_->slices;
  for (const uint32_t index : order_) {
    Slice& slice = slices[index];
    if (slice.category != Category::kDeviceWork || !IsEngine(slice)) continue;
    slice.parent = kNone;
    if ((slice.flags & kFarParent) == 0) continue;
    const auto told = std::lower_bound(far_parents_.begin(), far_parents_.end(),
                                       std::pair<uint32_t, uint32_t>(index, 0));
    if (told->second >= slices.size()) continue;
    const Slice& launch = slices[told->second];
    const bool launches =
        launch.category == Category::kOperator || launch.category == Category::kModuleCall;
    if (!launches || IsEngine(launch) || (launch.flags & kInTicks) != 0) continue;
    slice.parent = IsDropped(launch) ? launch.parent : told->second;
  }
}

void Slices::AddAllocation(profile::Allocation allocation, int64_t parent) {
  const auto begun = static_cast<int64_t>(profile_->slices.size());
  if (parent > 0 && parent <= begun) allocation.slice = static_cast<uint32_t>(begun - parent);
  profile_->allocations.push_back(allocation);
}

// By the final places: in the innermost call of a module, or operator, that was running then.
void Slices::PlaceAllocations(const std::vector<uint32_t>& place) {
  const std::vector<Slice>& slices = profile_->slices;
  const auto holds = [&](const Slice& slice, int64_t time_ns) {
    const bool may =
        slice.category == Category::kOperator || slice.category == Category::kModuleCall;
    return may && (slice.flags & kInTicks) == 0 && !IsDropped(slice) && !IsEngine(slice) &&
           slice.start_ns <= time_ns && EndOf(slice) >= time_ns;
  };
  for (profile::Allocation& each : profile_->allocations) {
    uint32_t at = each.slice;
    for (size_t steps = 0; at != kNone && !holds(slices[at], each.time_ns); ++steps) {
      at = steps < kDeepest ? slices[at].parent : kNone;
    }
    each.slice = at == kNone ? kNone : place[at];
  }
  std::stable_sort(profile_->allocations.begin(), profile_->allocations.end(),
                   [](const profile::Allocation& a, const profile::Allocation& b) {
                     return a.time_ns < b.time_ns;
                   });
}

// The delegate call that the file says an engine's slice is in; kNone: it says none.
uint32_t Slices::ToldCall(uint32_t index) const {
  if ((profile_->slices[index].flags & kFarParent) == 0) return kNone;
  const auto told = std::lower_bound(far_parents_.begin(), far_parents_.end(),
                                     std::pair<uint32_t, uint32_t>(index, 0));
  if (told->second >= profile_->slices.size()) return kNone;
  const Slice& call = profile_->slices[told->second];
  const bool is_call = call.category == Category::kDelegateCall && !IsEngine(call) &&
                       (call.flags & kInTicks) == 0 && !IsDropped(call);
  return is_call ? told->second : kNone;
}

// An engine's slice belongs to the delegate call at its instruction, on its thread, that is running
// as it starts, or the last one that began before.
void Slices::FindDelegateCalls() {
  std::vector<Slice>& slices = profile_->slices;
  const auto instruction_of = [this](const Slice& slice) {
    return slice.args == kNone ? -1 : profile_->args[slice.args].instruction;
  };
  // By run, where it is told which run they are in; all once more under kNone.
  std::vector<CallOfRun> calls;
  for (const uint32_t index : order_) {
    const Slice& slice = slices[index];
    if (slice.category != Category::kDelegateCall || IsDropped(slice)) continue;
    const Call call{slice.track, instruction_of(slice), slice.start_ns, index};
    calls.emplace_back(kNone, call);
    if (RunOf(index) < kOutside) calls.emplace_back(RunOf(index), call);
  }
  std::sort(calls.begin(), calls.end());
  for (const uint32_t index : order_) {
    Slice& slice = slices[index];
    if (slice.category != Category::kDelegateOp || !IsEngine(slice)) continue;
    if (const uint32_t told = ToldCall(index); told != kNone) {
      slice.parent = told;
      continue;
    }
    const auto hint =
        std::lower_bound(hints_.begin(), hints_.end(), index,
                         [](const CallHint& each, uint32_t wanted) { return each.slice < wanted; });
    const bool hinted = hint != hints_.end() && hint->slice == index;
    if (hinted && hint->call_ns < 0) continue;
    const int64_t time_ns = hinted ? hint->call_ns : slice.start_ns;
    const uint32_t run = RunOf(index) < kOutside ? RunOf(index) : kNone;
    const CallOfRun wanted{
        run, {profile_->tracks[slice.track].parent, instruction_of(slice), time_ns, kNone}};
    auto found = std::upper_bound(calls.begin(), calls.end(), wanted);
    if (found == calls.begin()) continue;
    --found;
    const auto& [call_run, call] = *found;
    const Call& asked = std::get<1>(wanted);
    if (call_run != run || call.track != asked.track || call.instruction != asked.instruction) {
      continue;
    }
    if (hinted && call.start_ns != time_ns) continue;
    slice.parent = call.slice;
  }
}

// Permutes the slices in place: a copy would be as large as all of them.
void Slices::MoveTo(std::vector<uint32_t>& place) {
  std::vector<Slice>& slices = profile_->slices;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < slices.size(); ++i) {
    Slice& slice = slices[i];
    if (place[i] != kNone) ++kept;
    if (slice.parent != kNone) slice.parent = place[slice.parent];
    if ((slice.flags & kInTicks) != 0) {
      const TicksValue& value = ticks_[static_cast<size_t>(slice.dur_ns)];
      slice.start_ns = value.start;
      slice.dur_ns = value.ticks;
    }
    slice.flags = 0;
  }
  uint32_t past = kept;  // those left out go behind the others
  for (uint32_t& each : place) {
    if (each == kNone) each = past++;
  }
  for (uint32_t i = 0; i < slices.size(); ++i) {
    while (place[i] != i) {
      const uint32_t to = place[i];
      std::swap(slices[i], slices[to]);
      std::swap(place[i], place[to]);
    }
  }
  slices.resize(kept);
  slices.shrink_to_fit();
}

}  // namespace inferprobe::perfetto
