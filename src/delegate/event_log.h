// What a sidecar will hold: the calls, phases and layers of one engine, in memory that is there
// before the first call. A full log drops what is new, and counts it.
//
// The rule that people break: it is written under the engine's lock, and read when no call is in
// flight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inferprobe/clock.h"

namespace inferprobe::delegate {

class EventLog {
 public:
  struct Event {
    uint64_t start;  // ticks; of a layer: of its call
    uint64_t end;    // ticks; of a layer: its nanoseconds
    uint32_t name;   // a number of the profiler's, or kLayer + the layer's
    uint32_t call;
  };
  static constexpr uint32_t kLayer = 1U << 31;
  static constexpr size_t kCapacity = size_t{1} << 16;

  EventLog() : events_(kCapacity) {}

  void BeginCall(uint64_t start) {
    ++call_;
    call_start_ = start;
  }
  void Add(uint32_t name, uint64_t start, uint64_t end) {
    if (used_ == events_.size()) {
      ++dropped_;
      return;
    }
    events_[used_++] = {start, end, name, call_};
  }
  void AddLayer(uint32_t layer, int64_t ns) {
    Add(kLayer | layer, call_start_, static_cast<uint64_t>(ns));
  }

  [[nodiscard]] uint32_t calls() const { return call_; }
  [[nodiscard]] uint64_t dropped() const { return dropped_; }
  [[nodiscard]] size_t size() const { return used_; }
  [[nodiscard]] const Event& at(size_t i) const { return events_[i]; }

 private:
  std::vector<Event> events_;
  size_t used_ = 0;
  uint64_t dropped_ = 0;
  uint32_t call_ = 0;
  uint64_t call_start_ = 0;
};

}  // namespace inferprobe::delegate
