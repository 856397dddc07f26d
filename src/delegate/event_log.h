// What a sidecar will hold: the calls, phases, layers and device times of one engine, in memory
// that is there before the first call, and the sum of each event over all calls.
//
// The rule that people break: it holds whole calls. One that may not fit is left out from its
// beginning, and counted; the sums have it all the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "inferprobe/clock.h"

namespace inferprobe::delegate {

class EventLog {
 public:
  struct Event {
    uint64_t start;  // ticks; of a layer or a device time: of its call
    uint64_t end;    // ticks; of a layer or a device time: its nanoseconds
    uint32_t name;   // a number of the profiler's, or kLayer + the layer's
    uint32_t call;
    uint64_t note;  // of the whole call its CallMode, of a layer report the calls since compile
  };
  struct Sum {
    uint64_t ticks = 0;
    uint64_t calls = 0;
  };
  static constexpr uint32_t kLayer = 1U << 31;
  static constexpr size_t kCapacity = size_t{1} << 16;
  static constexpr size_t kNames = 16;  // that have sums: the profiler's numbers are below

  // `timeline`: false keeps the sums alone.
  explicit EventLog(bool timeline) : events_(timeline ? kCapacity : 0) {}

  void BeginCall(uint64_t start) {
    if (call_ != 0) longest_ = std::max(longest_, used_ - call_begin_);
    ++call_;
    call_start_ = start;
    call_begin_ = used_;
    open_ = events_.size() - used_ > longest_;
    if (!open_ && !events_.empty()) ++calls_left_out_;
  }
  void Add(uint32_t name, uint64_t start, uint64_t end, uint64_t note) {
    sums_[name].ticks += end - start;
    ++sums_[name].calls;
    Put({start, end, name, call_, note});
  }
  void AddLayer(uint32_t layer, int64_t ns) {
    Put({call_start_, static_cast<uint64_t>(ns), kLayer | layer, call_, 0});
  }
  // Of call number `call`, which may be an earlier one.
  void AddDevice(uint32_t name, uint64_t call, int64_t ns) {
    Put({call_start_, static_cast<uint64_t>(ns), name, static_cast<uint32_t>(call), 0});
  }

  [[nodiscard]] uint32_t calls() const { return call_; }
  [[nodiscard]] uint64_t calls_left_out() const { return calls_left_out_; }
  [[nodiscard]] size_t size() const { return used_; }
  [[nodiscard]] const Event& at(size_t i) const { return events_[i]; }
  [[nodiscard]] const Sum& sum(uint32_t name) const { return sums_[name]; }

 private:
  void Put(const Event& event) {
    if (!open_) return;
    if (used_ == events_.size()) {  // longer than any call before: it goes as a whole
      used_ = call_begin_;
      open_ = false;
      ++calls_left_out_;
      return;
    }
    events_[used_++] = event;
  }

  std::vector<Event> events_;
  std::array<Sum, kNames> sums_{};
  size_t used_ = 0;
  size_t call_begin_ = 0;
  size_t longest_ = 0;
  bool open_ = false;
  uint64_t calls_left_out_ = 0;
  uint32_t call_ = 0;
  uint64_t call_start_ = 0;
};

}  // namespace inferprobe::delegate
