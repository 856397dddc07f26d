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
using profile::Run;
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
  if (event.run) runs_.push_back({index, *event.run});
  if (event.call_ns) hints_.push_back({index, *event.call_ns});
  Slice slice;
  slice.start_ns = event.time_ns;
  slice.dur_ns = -1;
  slice.name = event.name;
  slice.track = static_cast<uint16_t>(event.track);
  slice.category = event.category;
  slice.flags = static_cast<uint8_t>(flags | (event.lost ? kLost : 0));
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
  Slice* slice = Add(event, kInTicks);
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
  FindDelegateCalls();
  std::vector<uint32_t> place = Places();
  order_ = {};
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
      if (slice.dur_ns < 0 && (slice.flags & kLost) == 0) ++unfinished;
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
  if (!stack.open.empty()) {
    slice.parent = stack.open.back();
  } else if (const uint32_t lane = plan.lane_of[track]; lane != 0) {
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

void Slices::Close(std::vector<Stack>& stacks, const EndEvent& end, uint32_t stack_index) {
  Stack& stack = stacks[stack_index];
  if (stack.begun == 0) {
    profile_->losses.Add(Loss::kUnbalancedEnd);
    return;
  }
  for (;;) {
    Slice& top = profile_->slices[stack.open.back()];
    stack.open.pop_back();
    if ((top.flags & kComplete) != 0) continue;  // reaches beyond what it is in
    top.dur_ns = end.time_ns - top.start_ns;
    --stack.begun;
    return;
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
    uint32_t outer = candidate;
    for (size_t depth = 0; depth < kDeepest && outer != kNone; ++depth) {
      if (!IsDropped(slices[outer]) && Contains(slices[outer], slice)) break;
      outer = slices[outer].parent;
    }
    if (outer == kNone || !Contains(slices[outer], slice) || IsDropped(slices[outer])) continue;
    // Of what encloses it on several lanes, the innermost.
    if (slice.parent == kNone || slices[slice.parent].start_ns <= slices[outer].start_ns) {
      slice.parent = outer;
    }
  }
  moved_ = {};
}

// An engine's slice belongs to the delegate call at its instruction, on its thread, that is running
// as it starts, or the last one that began before.
void Slices::FindDelegateCalls() {
  std::vector<Slice>& slices = profile_->slices;
  const auto instruction_of = [this](const Slice& slice) {
    return slice.args == kNone ? -1 : profile_->args[slice.args].instruction;
  };
  std::vector<Call> calls;
  for (const uint32_t index : order_) {
    const Slice& slice = slices[index];
    if (slice.category != Category::kDelegateCall || IsDropped(slice)) continue;
    calls.push_back({slice.track, instruction_of(slice), slice.start_ns, index});
  }
  std::sort(calls.begin(), calls.end());
  for (const uint32_t index : order_) {
    Slice& slice = slices[index];
    if (slice.category != Category::kDelegateOp || !IsEngine(slice)) continue;
    const auto hint =
        std::lower_bound(hints_.begin(), hints_.end(), index,
                         [](const CallHint& each, uint32_t wanted) { return each.slice < wanted; });
    const bool hinted = hint != hints_.end() && hint->slice == index;
    if (hinted && hint->call_ns < 0) continue;
    const int64_t time_ns = hinted ? hint->call_ns : slice.start_ns;
    const Call wanted{profile_->tracks[slice.track].parent, instruction_of(slice), time_ns, kNone};
    auto call = std::upper_bound(calls.begin(), calls.end(), wanted);
    if (call == calls.begin()) continue;
    --call;
    if (call->track != wanted.track || call->instruction != wanted.instruction) continue;
    if (hinted && call->start_ns != time_ns) continue;
    slice.parent = call->slice;
  }
}

// The final index of each slice, kNone for those that are left out; fills Profile::runs. Slices
// stand by start, host before engine, and all of a run behind the run itself.
std::vector<uint32_t> Slices::Places() {
  const std::vector<Slice>& slices = profile_->slices;
  // What an engine reports has odd starts; it never stands before the call that it is in.
  const auto time_of = [&](const Slice& slice) {
    if (!IsEngine(slice) || slice.parent == kNone) return slice.start_ns;
    return std::max(slice.start_ns, slices[slice.parent].start_ns);
  };
  const auto in_order = [&](uint32_t a, uint32_t b) {
    const int64_t left = time_of(slices[a]);
    const int64_t right = time_of(slices[b]);
    if (left != right) return left < right;
    const bool engine = IsEngine(slices[a]);
    return engine != IsEngine(slices[b]) ? !engine : a < b;
  };
  if (!runs_.empty() && !std::is_sorted(order_.begin(), order_.end(), in_order)) {
    std::sort(order_.begin(), order_.end(), in_order);
  }
  // A run on an engine's track is none of ours: what is in it could stand before it.
  std::erase_if(runs_, [&](const RunSlice& run) {
    return IsDropped(slices[run.slice]) || IsEngine(slices[run.slice]);
  });
  std::stable_sort(runs_.begin(), runs_.end(), [](const RunSlice& a, const RunSlice& b) {
    return a.facts.index < b.facts.index;
  });

  std::vector<uint32_t> run_of(runs_.empty() ? 0 : slices.size(), kNone);
  std::vector<uint32_t> run_starts(runs_.empty() ? 0 : slices.size(), kNone);
  std::vector<uint32_t> members(runs_.size());
  // Runs by thread and start, for what an engine reports outside any call.
  std::vector<std::tuple<uint32_t, int64_t, uint32_t>> by_thread;
  for (uint32_t run = 0; run < runs_.size(); ++run) {
    const Slice& slice = slices[runs_[run].slice];
    run_starts[runs_[run].slice] = run;
    by_thread.emplace_back(slice.track, slice.start_ns, run);
  }
  std::sort(by_thread.begin(), by_thread.end());
  for (const uint32_t index : order_) {
    if (runs_.empty()) break;
    const Slice& slice = slices[index];
    if (IsDropped(slice)) continue;
    uint32_t& run = run_of[index];
    if (run_starts[index] != kNone) {
      run = run_starts[index];
    } else if (slice.parent != kNone) {
      run = run_of[slice.parent];
    } else if (IsEngine(slice)) {
      const uint32_t thread = profile_->tracks[slice.track].parent;
      auto at = std::upper_bound(by_thread.begin(), by_thread.end(),
                                 std::tuple(thread, slice.start_ns, kNone));
      if (at == by_thread.begin()) continue;
      --at;
      if (std::get<0>(*at) != thread) continue;
      const Slice& whole = slices[runs_[std::get<2>(*at)].slice];
      if (slice.start_ns <= EndOf(whole)) run = std::get<2>(*at);
    }
    if (run != kNone) ++members[run];
  }

  std::vector<uint32_t> place(slices.size(), kNone);
  std::vector<uint32_t> next(runs_.size());
  profile_->runs.resize(runs_.size());
  uint32_t free = 0;
  for (const uint32_t index : order_) {
    const Slice& slice = slices[index];
    if (IsDropped(slice)) continue;
    const uint32_t run = runs_.empty() ? kNone : run_of[index];
    if (run == kNone) {
      place[index] = free++;
      continue;
    }
    if (run_starts[index] == run) {
      const RunFacts& facts = runs_[run].facts;
      Run& entry = profile_->runs[run];
      entry.mode = facts.mode;
      entry.process = facts.process;
      entry.incomplete = facts.incomplete;
      entry.group = facts.group;
      entry.start_ns = slice.start_ns;
      entry.dur_ns = slice.dur_ns;
      entry.first_slice = free;
      entry.slice_count = members[run];
      entry.disturbance.run_queue_delay_ns = -1;  // a trace does not tell
      next[run] = free;
      free += members[run];
    }
    place[index] = next[run]++;
  }
  return place;
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
