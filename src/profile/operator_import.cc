#include "profile/operator_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/engine_track.h"
#include "profile/operator_nesting.h"

namespace inferprobe::profile {
namespace {

constexpr size_t kMostTracks = 0x10000;  // Slice::track has 16 bits
constexpr OperatorEvent kLeftOut{.start_ns = 1, .end_ns = 0};

// Whether a slice of a thread is one that operators can be in, and that can be in them.
bool Nests(Category category) {
  return category != Category::kRegion && category != Category::kRegionPart &&
         category != Category::kDelegateOp && category != Category::kDeviceWork;
}

bool OwnsAllocations(Category category) {
  return category == Category::kModuleCall || category == Category::kOperator;
}

template <typename Event>
Slice SliceOf(const Event& event, uint32_t track, Category category) {
  Slice slice;
  slice.start_ns = event.start_ns;
  slice.dur_ns = event.end_ns - event.start_ns;
  slice.name = event.name;
  slice.track = static_cast<uint16_t>(track);
  slice.category = category;
  return slice;
}

}  // namespace

bool OperatorImport::IsTimed(int64_t start_ns, int64_t end_ns) {
  if (0 <= start_ns && start_ns <= end_ns && end_ns <= kLatestNs) return true;
  profile_->losses.Add(Loss::kOperatorsUnplaced);
  return false;
}

void OperatorImport::AddOperator(const OperatorEvent& event) {
  operators_.push_back(IsTimed(event.start_ns, event.end_ns) ? event : kLeftOut);
}

void OperatorImport::SkipOperator() { operators_.push_back(kLeftOut); }

void OperatorImport::AddAllocation(const AllocationEvent& event) {
  if (IsTimed(event.time_ns, event.time_ns)) allocations_.push_back(event);
}

void OperatorImport::AddDeviceWork(const DeviceEvent& event) {
  if (IsTimed(event.start_ns, event.end_ns)) device_work_.push_back(event);
}

void OperatorImport::Finish(uint32_t first_slice) {
  first_slice = std::min(first_slice, static_cast<uint32_t>(profile_->slices.size()));
  FindThreads();
  NestOperators(first_slice);
  AddDeviceSlices();
  operators_.clear();
  allocations_.clear();
  device_work_.clear();
}

void OperatorImport::FindThreads() {
  for (size_t i = thread_of_track_.size(); i < profile_->tracks.size(); ++i) {
    const Track& track = profile_->tracks[i];
    uint32_t& thread = thread_of_track_.emplace_back(kNone);
    if (track.type != TrackType::kThread || track.pid != pid_ || track.in_ticks) continue;
    thread = thread_of_id_.try_emplace(track.tid, static_cast<uint32_t>(last_track_.size()))
                 .first->second;
    if (thread == last_track_.size()) last_track_.push_back(kNone);
    last_track_[thread] = static_cast<uint32_t>(i);
  }
}

uint32_t OperatorImport::ThreadOf(int64_t thread_id) {
  if (const auto found = thread_of_id_.find(thread_id); found != thread_of_id_.end()) {
    return found->second;
  }
  Track track;
  track.name = fmt::format("thread {}", thread_id);
  track.pid = pid_;
  track.tid = thread_id;
  if (AddTrack(std::move(track)) == kNone) return kNone;
  FindThreads();
  return thread_of_id_.at(thread_id);
}

uint32_t OperatorImport::StreamTrack(uint32_t stream) {
  const auto [place, fresh] = stream_tracks_.try_emplace(stream, kNone);
  if (!fresh) return place->second;
  Track track;
  track.name = NameOfEngineTrack(fmt::format("stream {}", stream), Kind::kDevice, "");
  track.type = TrackType::kEngine;
  track.kind = Kind::kDevice;
  track.pid = pid_;
  return place->second = AddTrack(std::move(track));
}

// kNone: there are too many already.
uint32_t OperatorImport::AddTrack(Track track) {
  if (profile_->tracks.size() >= kMostTracks) return kNone;
  profile_->tracks.push_back(std::move(track));
  return static_cast<uint32_t>(profile_->tracks.size() - 1);
}

void OperatorImport::NestOperators(uint32_t first_slice) {
  const auto behind = static_cast<uint32_t>(profile_->slices.size());
  std::vector<Item> fixed;
  for (uint32_t i = first_slice; i < behind; ++i) {
    const Slice& slice = profile_->slices[i];
    const uint32_t thread =
        slice.track < thread_of_track_.size() ? thread_of_track_[slice.track] : kNone;
    if (thread != kNone && Nests(slice.category) && slice.dur_ns >= 0) fixed.push_back({thread, i});
  }
  std::vector<Item> operators = AddOperatorSlices();
  const size_t first_allocation = profile_->allocations.size();
  std::vector<Item> allocations;
  for (const AllocationEvent& event : allocations_) {
    const auto index = static_cast<uint32_t>(profile_->allocations.size());
    profile_->allocations.push_back({event.time_ns, event.bytes, kNone, event.device});
    const auto thread = thread_of_id_.find(event.thread_id);
    if (thread != thread_of_id_.end()) allocations.push_back({thread->second, index});
  }
  const auto by_thread = [](const Item& a, const Item& b) { return a.thread < b.thread; };
  const auto take = [&](std::span<const Item>* items, uint32_t thread) {
    const auto end = std::upper_bound(items->begin(), items->end(), Item{thread, 0}, by_thread);
    const auto taken = items->first(static_cast<size_t>(end - items->begin()));
    *items = items->subspan(taken.size());
    return taken;
  };
  std::vector<Item>* const all[] = {&fixed, &operators, &allocations};
  for (std::vector<Item>* items : all) std::stable_sort(items->begin(), items->end(), by_thread);
  std::span<const Item> rest[] = {fixed, operators, allocations};
  for (;;) {
    uint32_t thread = kNone;
    for (const std::span<const Item>& items : rest) {
      if (!items.empty()) thread = std::min(thread, items.front().thread);
    }
    if (thread == kNone) break;
    const auto thread_fixed = take(&rest[0], thread);
    const auto thread_operators = take(&rest[1], thread);
    NestThread(thread_fixed, thread_operators, take(&rest[2], thread));
  }
  FindOwners(first_slice, first_allocation);
}

std::vector<OperatorImport::Item> OperatorImport::AddOperatorSlices() {
  std::vector<Item> items;
  items.reserve(operators_.size());
  slice_of_operator_.assign(operators_.size(), kNone);
  for (size_t i = 0; i < operators_.size(); ++i) {
    const OperatorEvent& event = operators_[i];
    if (event.end_ns < event.start_ns) continue;
    const uint32_t thread = ThreadOf(event.thread_id);
    if (thread == kNone) {
      profile_->losses.Add(Loss::kTooLarge);
      continue;
    }
    const Slice slice = SliceOf(event, last_track_[thread], Category::kOperator);
    slice_of_operator_[i] = static_cast<uint32_t>(profile_->slices.size());
    items.push_back({thread, slice_of_operator_[i]});
    profile_->slices.push_back(slice);
  }
  return items;
}

// All of one thread, each list by index.
void OperatorImport::NestThread(std::span<const Item> fixed, std::span<const Item> operators,
                                std::span<const Item> allocations) {
  std::vector<Slice>& slices = profile_->slices;
  const auto place_of = [&](uint32_t slice) -> uint32_t {
    const auto found =
        std::lower_bound(fixed.begin(), fixed.end(), slice,
                         [](const Item& item, uint32_t index) { return item.index < index; });
    if (found == fixed.end() || found->index != slice) return kNone;
    return static_cast<uint32_t>(found - fixed.begin());
  };
  std::vector<FixedSpan> spans;
  spans.reserve(fixed.size());
  for (const Item& item : fixed) {
    const Slice& slice = slices[item.index];
    spans.push_back({slice.start_ns, slice.start_ns + slice.dur_ns, place_of(slice.parent)});
  }
  std::vector<OperatorSpan> operator_spans;
  operator_spans.reserve(operators.size());
  for (const Item& item : operators) {
    const Slice& slice = slices[item.index];
    operator_spans.push_back({slice.start_ns, slice.start_ns + slice.dur_ns});
  }
  std::vector<PointInTime> points;
  points.reserve(allocations.size());
  for (const Item& item : allocations) {
    points.push_back({profile_->allocations[item.index].time_ns});
  }
  OperatorNesting nesting(&spans, &operator_spans, &points);
  nesting.Find();

  const auto slice_of = [&](NestedIndex at) {
    if (at == kNone) return kNone;
    return at < fixed.size() ? fixed[at].index : operators[at - fixed.size()].index;
  };
  for (size_t i = 0; i < fixed.size(); ++i) {
    Slice& slice = slices[fixed[i].index];
    if (spans[i].overlaps) {
      if (slice.category != Category::kModuleCall) continue;
      profile_->losses.Add(Loss::kOverlap);
      slice.parent = kNone;
      continue;
    }
    // What is around it on another thread, or began in an earlier run, is not ours to find.
    const bool elsewhere = spans[i].parent == kNone && place_of(slice.parent) == kNone;
    if (!elsewhere) slice.parent = slice_of(spans[i].parent);
  }
  for (const uint32_t i : nesting.operators_in_order()) {
    const OperatorSpan& span = operator_spans[i];
    Slice& slice = slices[operators[i].index];
    slice.start_ns = span.start_ns;
    slice.dur_ns = span.end_ns - span.start_ns;
    slice.parent = slice_of(span.parent);
    // Of a thread's tracks, that of what it is in.
    if (slice.parent != kNone) slice.track = slices[slice.parent].track;
    if (span.cut) profile_->losses.Add(Loss::kOperatorCut);
  }
  for (size_t i = 0; i < allocations.size(); ++i) {
    profile_->allocations[allocations[i].index].slice = slice_of(points[i].inside);
  }
}

void OperatorImport::AddDeviceSlices() {
  for (const DeviceEvent& event : device_work_) {
    const uint32_t track = StreamTrack(event.stream);
    if (track == kNone) {
      profile_->losses.Add(Loss::kTooLarge);
      continue;
    }
    Slice slice = SliceOf(event, track, Category::kDeviceWork);
    const size_t number = event.operator_number;
    if (number != 0 && number <= slice_of_operator_.size()) {
      slice.parent = slice_of_operator_[number - 1];
    }
    profile_->slices.push_back(slice);
  }
}

// An allocation is of a module or an operator, whatever else lies between. Linear: what was found
// for a slice is kept.
void OperatorImport::FindOwners(uint32_t first_slice, size_t first_allocation) {
  const std::vector<Slice>& slices = profile_->slices;
  constexpr uint32_t kUnknown = kNone - 1;
  std::vector<uint32_t> owner(slices.size() - first_slice, kUnknown);
  std::vector<uint32_t> chain;
  for (size_t i = first_allocation; i < profile_->allocations.size(); ++i) {
    uint32_t at = profile_->allocations[i].slice;
    uint32_t found = kNone;
    for (; at >= first_slice && at < slices.size(); at = slices[at].parent) {
      if (owner[at - first_slice] != kUnknown) {
        found = owner[at - first_slice];
        break;
      }
      if (OwnsAllocations(slices[at].category)) {
        found = at;
        break;
      }
      owner[at - first_slice] = kNone;  // also what ends a circle
      chain.push_back(at);
    }
    for (; !chain.empty(); chain.pop_back()) owner[chain.back() - first_slice] = found;
    profile_->allocations[i].slice = found;
  }
}

}  // namespace inferprobe::profile
