// Times of all clocks of a trace, as times of its main clock: the one that the first snapshot names
// as primary, BOOTTIME where it names none.
//
// The rule that people break: clocks 64 to 127 are the sequence's own, and an incremental clock
// stands where the packet before has left it: every packet that uses one must come by here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/perfetto/mix.h"

namespace inferprobe::perfetto {

class Clocks {
 public:
  // A ClockSnapshot message. False if it is none.
  bool AddSnapshot(std::string_view message, uint32_t sequence);

  enum class Problem : uint8_t { kNone, kUnknownClock, kOutOfRange };
  struct Time {
    int64_t ns = 0;
    Problem problem = Problem::kNone;
  };
  // Clock 0: the packet does not say; that is the main clock.
  Time ToMain(uint32_t clock, uint32_t sequence, uint64_t timestamp);

  // From the first snapshot that has both; nullopt: none has.
  [[nodiscard]] std::optional<int64_t> boottime_minus_monotonic_ns() const { return boottime_; }
  [[nodiscard]] std::optional<int64_t> realtime_minus_monotonic_ns() const { return realtime_; }

 private:
  struct Point {
    int64_t own_ns;
    int64_t main_ns;
  };
  struct State {
    uint64_t multiplier = 1;
    bool incremental = false;
    int64_t last_ns = 0;  // incremental clocks: where it stands
    std::vector<Point> points;
  };
  struct Reading {
    uint64_t key = 0;
    uint32_t id = 0;
    int64_t ns = 0;
  };

  static uint64_t KeyOf(uint32_t clock, uint32_t sequence);
  static Time Convert(const State& state, int64_t own_ns);
  void LearnOffsets(const std::vector<Reading>& readings);

  std::unordered_map<uint64_t, State, MixedHash> clocks_;
  std::optional<uint32_t> main_;
  std::optional<int64_t> boottime_;
  std::optional<int64_t> realtime_;
};

}  // namespace inferprobe::perfetto
