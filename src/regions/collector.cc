// The collector's memory, and reports of it.
#include "regions/collector.h"

#include <new>
#include <thread>
#include <utility>

#include "inferprobe/clock.h"
#include "regions/frame.h"

namespace inferprobe {
namespace {

// What no machine has: not even asked for, since sanitizers end the program that does.
constexpr size_t kMostBytes = size_t{1} << 38;

// Both or none: a collector without memory drops everything, and counts it.
void Allocate(ParallelRegionCollector::Impl* impl, size_t capacity, size_t per_event) {
  using Slot = ParallelRegionCollector::Impl::Slot;
  if (capacity == 0 || capacity > kMostBytes / sizeof(Slot) ||
      per_event > kMostBytes / sizeof(RegionParticipant) / capacity) {
    return;
  }
  // Zeroed, so that no page is touched for the first time while a region is measured.
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[capacity]());
  std::unique_ptr<RegionParticipant[]> participants(new (std::nothrow)
                                                        RegionParticipant[capacity * per_event]());
  if (slots == nullptr || participants == nullptr) return;
  impl->slots = std::move(slots);
  impl->participants = std::move(participants);
  impl->capacity = capacity;
}

}  // namespace

ParallelRegionCollector::ParallelRegionCollector(RegionCollectorOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->detail = options.detail;
  impl_->callback = std::move(options.callback);
  impl_->participants_per_event = options.participants_per_event != 0
                                      ? options.participants_per_event
                                      : std::max<size_t>(8, std::thread::hardware_concurrency());
  if (!impl_->callback) Allocate(impl_.get(), options.capacity, impl_->participants_per_event);
  regions::ForgetThreadsAtFork();
  Clock();  // decides and calibrates here, not in the first region
}

ParallelRegionCollector::~ParallelRegionCollector() = default;

ParallelRegionReport ParallelRegionCollector::Report() const {
  ParallelRegionReport report;
  report.dropped = dropped();
  std::vector<const ParallelRegionEvent*> ready;
  size_t participants = 0;
  impl_->ForEach([&](const ParallelRegionEvent& event) {
    ready.push_back(&event);
    participants += event.participants.size();
  });
  report.storage.reserve(participants);  // the events point into it
  report.events.reserve(ready.size());
  for (const ParallelRegionEvent* event : ready) {
    const size_t first = report.storage.size();
    report.storage.insert(report.storage.end(), event->participants.begin(),
                          event->participants.end());
    report.events.push_back(*event);
    report.events.back().participants = {report.storage.data() + first, event->participants.size()};
  }
  std::stable_sort(report.events.begin(), report.events.end(),
                   [](const ParallelRegionEvent& a, const ParallelRegionEvent& b) {
                     return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                                     : a.region_id < b.region_id;
                   });
  return report;
}

void ParallelRegionCollector::Clear() {
  const uint64_t count = std::min<uint64_t>(impl_->claimed.load(), impl_->capacity);
  for (uint64_t i = 0; i < count; ++i) impl_->slots[i].ready.store(false);
  impl_->claimed.store(0);
  impl_->refused.store(0);
}

size_t ParallelRegionCollector::capacity() const { return impl_->capacity; }

uint64_t ParallelRegionCollector::dropped() const {
  const uint64_t claimed = impl_->claimed.load(std::memory_order_relaxed);
  return (claimed > impl_->capacity ? claimed - impl_->capacity : 0) +
         impl_->refused.load(std::memory_order_relaxed);
}

RegionDetail ParallelRegionCollector::detail() const { return impl_->detail; }

}  // namespace inferprobe
