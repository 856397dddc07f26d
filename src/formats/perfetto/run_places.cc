// Slices' part for runs: which slice belongs to which, which of them are whole, and where all
// slices stand in the end: by start, host before engine, those of a run together.
//
// The rule that people break: a run that lost something is no run less. It is listed, and said to
// be incomplete.

#include <algorithm>
#include <iterator>
#include <tuple>

#include "formats/perfetto/slices.h"

namespace inferprobe::perfetto {

using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Run;
using profile::Slice;

void Slices::SetRun(uint32_t slice, uint32_t run) {
  run_of_.resize(slice, kNone);
  run_of_.push_back(run);
}

// The run that the file calls by this number, known or not yet.
uint32_t Slices::RunNumbered(int64_t number) {
  const auto [at, is_new] = run_numbered_.try_emplace(number, static_cast<uint32_t>(runs_.size()));
  if (is_new) runs_.emplace_back().facts.index = static_cast<uint32_t>(number);
  return at->second;
}

// The run whose own slice this is. Of a trace that was written in pieces, slices that are in it may
// stand before it, and have named it already. Two slices of one number are two runs.
uint32_t Slices::RunOfSlice(const RunFacts& facts, uint32_t slice) {
  uint32_t at = RunNumbered(facts.index);
  if (runs_[at].known) {
    at = static_cast<uint32_t>(runs_.size());
    runs_.emplace_back();
    run_numbered_[facts.index] = at;
  }
  MarkedRun& run = runs_[at];
  run.facts = facts;
  run.known = true;
  run.slice = slice;
  return at;
}

void Slices::MarkRun(const RunFacts& facts, int64_t time_ns) {
  MarkedRun& run = runs_[RunNumbered(facts.index)];
  if (run.known) return;
  run.facts = facts;
  run.known = true;
  run.start_ns = facts.start_ns.value_or(time_ns);
}

void Slices::Damage() {
  const auto begun = static_cast<uint32_t>(profile_->slices.size());
  if (damage_.empty() || damage_.back() != begun) damage_.push_back(begun);
}

// Orders runs_ as the file numbers them, and finds what is in each.
void Slices::FindRuns() {
  if (runs_.empty()) {
    if (!damage_.empty()) FindDamagedMethods();
    return;
  }
  run_of_.resize(profile_->slices.size(), kNone);
  SortByPlace();
  std::vector<MarkedRun> runs;
  std::vector<uint32_t> order(runs_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return runs_[a].facts.index < runs_[b].facts.index;
  });
  std::vector<uint32_t> now(runs_.size(), kNone);
  for (const uint32_t old : order) {
    MarkedRun& run = runs_[old];
    if (run.slice != kNone) {
      // A run on an engine's track is none of ours. What is left of one that gives no rows says
      // nothing: not even how long it took.
      const Slice& slice = profile_->slices[run.slice];
      if (IsEngine(slice) || (slice.flags & kInTicks) != 0) continue;
      if (IsDropped(slice) && !profile::GivesRows(run.facts.mode)) continue;
      run.start_ns = slice.start_ns;
    }
    now[old] = static_cast<uint32_t>(runs.size());
    runs.push_back(run);
  }
  for (uint32_t& run : run_of_) {
    if (run < now.size()) run = now[run];
  }
  runs_ = std::move(runs);
  FindMembers();
  // Of a mark that is missing, and of which no slice is left, nobody knows anything.
  std::vector<uint32_t> kept(runs_.size(), kNone);
  uint32_t count = 0;
  for (uint32_t run = 0; run < runs_.size(); ++run) {
    if (!runs_[run].known && runs_[run].members == 0) continue;
    kept[run] = count;
    runs_[count++] = runs_[run];
  }
  if (count != runs_.size()) {
    runs_.resize(count);
    for (uint32_t& run : run_of_) {
      if (run < kept.size()) run = kept[run];
    }
  }
  FindDamagedRuns();
}

// Sorts order_ as slices stand in the end.
void Slices::SortByPlace() {
  const std::vector<Slice>& slices = profile_->slices;
  // What an engine reports has odd starts; it never stands before the call that it is in.
  const auto time_of = [&](const Slice& slice) {
    if (!IsEngine(slice) || slice.parent == kNone) return slice.start_ns;
    return std::max(slice.start_ns, slices[slice.parent].start_ns);
  };
  // At one time: what is on the thread itself, then what is in it on tracks beside.
  const auto rank_of = [&](const Slice& slice) {
    switch (profile_->tracks[slice.track].type) {
      case profile::TrackType::kRegions:
        return 1;
      case profile::TrackType::kParticipant:
        return 2;
      case profile::TrackType::kEngine:
        return 3;
      default:
        return 0;
    }
  };
  const auto in_order = [&](uint32_t a, uint32_t b) {
    const int64_t left = time_of(slices[a]);
    const int64_t right = time_of(slices[b]);
    if (left != right) return left < right;
    const int rank = rank_of(slices[a]);
    const int other = rank_of(slices[b]);
    return rank != other ? rank < other : a < b;
  };
  if (!std::is_sorted(order_.begin(), order_.end(), in_order)) {
    std::sort(order_.begin(), order_.end(), in_order);
  }
}

void Slices::FindMembers() {
  const std::vector<Slice>& slices = profile_->slices;
  // Runs by thread and start, for what an engine reports outside any call.
  std::vector<std::tuple<uint32_t, int64_t, uint32_t>> by_thread;
  for (uint32_t run = 0; run < runs_.size(); ++run) {
    if (runs_[run].slice == kNone || IsDropped(slices[runs_[run].slice])) continue;
    const Slice& slice = slices[runs_[run].slice];
    by_thread.emplace_back(slice.track, slice.start_ns, run);
  }
  std::sort(by_thread.begin(), by_thread.end());
  for (const uint32_t index : order_) {
    const Slice& slice = slices[index];
    uint32_t& run = run_of_[index];
    if (IsDropped(slice)) continue;
    if (run == kNone && slice.parent != kNone) {
      run = run_of_[slice.parent];
    } else if (run == kNone && IsEngine(slice)) {
      const uint32_t thread = profile_->tracks[slice.track].parent;
      auto at = std::upper_bound(by_thread.begin(), by_thread.end(),
                                 std::tuple(thread, slice.start_ns, kNone));
      if (at == by_thread.begin()) continue;
      --at;
      if (std::get<0>(*at) != thread) continue;
      const Slice& whole = slices[runs_[std::get<2>(*at)].slice];
      if (slice.start_ns <= whole.start_ns + whole.dur_ns) run = std::get<2>(*at);
    }
    if (run >= runs_.size()) continue;
    MarkedRun& it = runs_[run];
    // In ticks, its times are no times.
    if ((slice.flags & kInTicks) == 0 && !IsEngine(slice)) {
      const int64_t end_ns = slice.start_ns + slice.dur_ns;
      if (!it.known)
        it.start_ns = it.placed ? std::min(it.start_ns, slice.start_ns) : slice.start_ns;
      it.end_ns = it.placed ? std::max(it.end_ns, end_ns) : end_ns;
      it.placed = true;
    }
    ++it.members;
  }
  for (MarkedRun& run : runs_) run.placed = false;
}

// Older files do not say how many slices a run has. There, what was lost is taken to be of the runs
// before and behind it in the file.
void Slices::FindDamagedRuns() {
  for (const uint32_t begun : damage_) {
    for (const uint32_t index : {begun - 1, begun}) {
      if (index >= run_of_.size() || run_of_[index] >= runs_.size()) continue;
      MarkedRun& run = runs_[run_of_[index]];
      run.damaged = run.damaged || !run.facts.slices;
    }
  }
}

void Slices::FindDamagedMethods() {
  const std::vector<Slice>& slices = profile_->slices;
  std::vector<uint32_t> method_of(slices.size(), kNone);  // the outermost one
  for (const uint32_t index : order_) {
    const Slice& slice = slices[index];
    if (slice.parent != kNone) method_of[index] = method_of[slice.parent];
    if (method_of[index] == kNone && slice.category == Category::kMethod) method_of[index] = index;
  }
  for (const uint32_t begun : damage_) {
    for (const uint32_t index : {begun - 1, begun}) {
      if (index >= slices.size() || method_of[index] == kNone) continue;
      const int64_t start_ns = slices[method_of[index]].start_ns;
      if (damaged_methods_.empty() || damaged_methods_.back() != start_ns) {
        damaged_methods_.push_back(start_ns);
      }
    }
  }
}

// What most probably took something from a run of this file.
Loss Slices::CauseOfDamage() const {
  for (const Loss loss :
       {Loss::kTruncatedFile, Loss::kDamagedPacket, Loss::kLostState, Loss::kUnreadBytes,
        Loss::kUnbalancedEnd, Loss::kUnfinishedSlice, Loss::kUnknownClock, Loss::kTimeOutOfRange,
        Loss::kTooLarge, Loss::kEndBeforeStart}) {
    if (profile_->losses.Get(loss) != 0) return loss;
  }
  return Loss::kIncompleteRun;
}

Run Slices::RunFrom(const MarkedRun& marked) const {
  const RunFacts& facts = marked.facts;
  Run run;
  run.mode = marked.known ? facts.mode : profile::RunMode::kProfiled;
  run.process = facts.process;
  run.group = facts.group;
  run.start_ns = marked.start_ns;
  run.slice_count = marked.members;
  run.disturbance.run_queue_delay_ns = -1;  // a trace does not tell
  const Slice* own = marked.slice == kNone ? nullptr : &profile_->slices[marked.slice];
  const bool cut = own != nullptr && IsDropped(*own);
  if (facts.dur_ns) {
    run.dur_ns = *facts.dur_ns;
  } else if (own != nullptr && !cut) {
    run.dur_ns = own->dur_ns;
  } else if (marked.members > 0) {  // at least
    run.dur_ns = std::max<int64_t>(marked.end_ns - marked.start_ns, 0);
  }
  run.incomplete = facts.incomplete;
  run.why = facts.why;
  const bool damaged = !marked.known || cut || marked.damaged ||
                       (facts.slices && marked.members < *facts.slices) ||
                       (own != nullptr && own->dur_ns != run.dur_ns);
  if (damaged && !run.incomplete) {
    run.incomplete = true;
    run.why = CauseOfDamage();
  }
  return run;
}

// The final index of each slice, kNone for those that are left out; fills Profile::runs.
std::vector<uint32_t> Slices::Places() {
  std::vector<Slice>& slices = profile_->slices;
  std::vector<Run>& runs = profile_->runs;
  runs.reserve(runs_.size());
  for (const MarkedRun& run : runs_) runs.push_back(RunFrom(run));

  std::vector<uint32_t> place(slices.size(), kNone);
  uint32_t free = 0;
  for (const uint32_t index : order_) {
    Slice& slice = slices[index];
    if (IsDropped(slice)) continue;
    const uint32_t in = runs_.empty() ? kNone : run_of_[index];
    if (in >= runs_.size()) {
      place[index] = free++;
    } else {
      MarkedRun& run = runs_[in];
      if (!run.placed) {
        run.placed = true;
        run.next = runs[in].first_slice = free;
        free += run.members;
      }
      place[index] = run.next++;
    }
    // In a damaged file what is around it may belong elsewhere.
    if (slice.parent != kNone && place[slice.parent] > place[index]) slice.parent = kNone;
  }
  return place;
}

}  // namespace inferprobe::perfetto
