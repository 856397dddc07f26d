// Where a collector keeps its events, for the recording side and for readers that do not copy.
//
// The rule that people break: an event is there for a reader once `ready` says so, and Clear() and
// ForEach() are for times in which nobody records.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "inferprobe/region.h"

namespace inferprobe {

struct ParallelRegionCollector::Impl {
  struct Slot {
    ParallelRegionEvent event;  // its participants lie in `participants`
    std::atomic<bool> ready{false};
  };

  RegionDetail detail = RegionDetail::kBusy;
  std::function<void(const ParallelRegionEvent&)> callback;
  size_t capacity = 0;
  size_t participants_per_event = 0;
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<RegionParticipant[]> participants;  // of slot i: from i * participants_per_event
  std::atomic<uint64_t> claimed{0};                   // slots; passes `capacity` when it is full
  std::atomic<uint64_t> refused{0};                   // events that no callback could be given

  // fn(event), in the order in which the regions ended.
  template <typename F>
  void ForEach(const F& fn) const {
    const uint64_t count = std::min<uint64_t>(claimed.load(std::memory_order_acquire), capacity);
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].ready.load(std::memory_order_acquire))
        fn(static_cast<const ParallelRegionEvent&>(slots[i].event));
    }
  }
};

}  // namespace inferprobe
