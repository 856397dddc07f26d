#include "formats/perfetto/clocks.h"

#include <algorithm>
#include <limits>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {
namespace {

constexpr uint32_t kFirstOfSequence = 64;
constexpr uint32_t kLastOfSequence = 127;

// timestamp * multiplier, nullopt beyond 63 bits.
std::optional<int64_t> Scaled(uint64_t timestamp, uint64_t multiplier) {
  int64_t ns = 0;
  if (__builtin_mul_overflow(timestamp, multiplier, &ns)) return std::nullopt;
  return ns;
}

}  // namespace

uint64_t Clocks::KeyOf(uint32_t clock, uint32_t sequence) {
  const bool scoped = clock >= kFirstOfSequence && clock <= kLastOfSequence;
  return scoped ? uint64_t{1} << 63 | uint64_t{sequence} << 8 | clock : clock;
}

bool Clocks::AddSnapshot(std::string_view message, uint32_t sequence) {
  std::vector<Reading> readings;
  std::optional<uint32_t> primary;
  Fields snapshot(message);
  while (snapshot.Next()) {
    if (snapshot.key() == VarintKey(ClockSnapshot::kPrimaryTraceClock)) {
      primary = static_cast<uint32_t>(snapshot.value());
    }
    if (snapshot.key() != BytesKey(ClockSnapshot::kClocks)) continue;
    uint32_t id = 0;
    uint64_t timestamp = 0;
    uint64_t multiplier = 1;
    bool incremental = false;
    Fields clock(snapshot.bytes());
    while (clock.Next()) {
      switch (clock.key()) {
        case VarintKey(Clock::kClockId):
          id = static_cast<uint32_t>(clock.value());
          break;
        case VarintKey(Clock::kTimestamp):
          timestamp = clock.value();
          break;
        case VarintKey(Clock::kIsIncremental):
          incremental = clock.value() != 0;
          break;
        case VarintKey(Clock::kUnitMultiplierNs):
          multiplier = std::max<uint64_t>(clock.value(), 1);
          break;
        default:
          break;
      }
    }
    if (clock.damaged() || id == 0) return false;
    const std::optional<int64_t> ns = Scaled(timestamp, multiplier);
    if (!ns) continue;  // its clock stays unknown
    const uint64_t key = KeyOf(id, sequence);
    State& state = clocks_[key];
    state.multiplier = multiplier;
    state.incremental = incremental;
    state.last_ns = *ns;
    readings.push_back({key, id, *ns});
  }
  if (snapshot.damaged()) return false;
  if (!main_) main_ = primary && *primary != 0 ? *primary : uint32_t{ClockId::kBoottime};
  LearnOffsets(readings);

  // The snapshot's own time: what it says of the main clock, or of one that is known already.
  std::optional<int64_t> main_ns;
  for (const Reading& reading : readings) {
    if (reading.id == *main_) main_ns = reading.ns;
  }
  for (size_t i = 0; i < readings.size() && !main_ns; ++i) {
    const Time time = Convert(clocks_[readings[i].key], readings[i].ns);
    if (time.problem == Problem::kNone) main_ns = time.ns;
  }
  if (!main_ns) return true;
  for (const Reading& reading : readings) {
    std::vector<Point>& points = clocks_[reading.key].points;
    // A clock that was set back has two times for one number: the first one stands.
    if (reading.id == *main_ || (!points.empty() && points.back().own_ns >= reading.ns)) continue;
    points.push_back({reading.ns, *main_ns});
  }
  return true;
}

Clocks::Time Clocks::Convert(const State& state, int64_t own_ns) {
  if (state.points.empty()) return {0, Problem::kUnknownClock};
  auto at = std::upper_bound(state.points.begin(), state.points.end(), own_ns,
                             [](int64_t ns, const Point& point) { return ns < point.own_ns; });
  if (at != state.points.begin()) --at;
  int64_t since = 0;
  int64_t ns = 0;
  if (__builtin_sub_overflow(own_ns, at->own_ns, &since) ||
      __builtin_add_overflow(at->main_ns, since, &ns) || ns < 0) {
    return {0, Problem::kOutOfRange};
  }
  return {ns, Problem::kNone};
}

Clocks::Time Clocks::ToMain(uint32_t clock, uint32_t sequence, uint64_t timestamp) {
  const uint32_t main = main_.value_or(ClockId::kBoottime);
  if (clock == 0 || clock == main) {
    if (timestamp > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return {0, Problem::kOutOfRange};
    }
    return {static_cast<int64_t>(timestamp), Problem::kNone};
  }
  const auto found = clocks_.find(KeyOf(clock, sequence));
  if (found == clocks_.end()) return {0, Problem::kUnknownClock};
  State& state = found->second;
  const std::optional<int64_t> ns = Scaled(timestamp, state.multiplier);
  if (!ns) return {0, Problem::kOutOfRange};
  if (!state.incremental) return Convert(state, *ns);
  int64_t now = 0;
  if (__builtin_add_overflow(state.last_ns, *ns, &now)) return {0, Problem::kOutOfRange};
  state.last_ns = now;
  return Convert(state, now);
}

void Clocks::LearnOffsets(const std::vector<Reading>& readings) {
  const auto of = [&](uint32_t id) -> std::optional<int64_t> {
    for (const Reading& reading : readings) {
      if (reading.id == id) return reading.ns;
    }
    return std::nullopt;
  };
  const std::optional<int64_t> monotonic = of(ClockId::kMonotonic);
  if (!monotonic) return;  // times are not negative: no overflow below
  if (const auto boottime = of(ClockId::kBoottime); boottime && !boottime_) {
    boottime_ = *boottime - *monotonic;
  }
  if (const auto realtime = of(ClockId::kRealtime); realtime && !realtime_) {
    realtime_ = *realtime - *monotonic;
  }
}

}  // namespace inferprobe::perfetto
