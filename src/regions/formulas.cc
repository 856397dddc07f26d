// What follows from an event's figures. docs/measure/parallel.md says what each includes.
#include <algorithm>

#include "inferprobe/region.h"

namespace inferprobe {

std::optional<uint64_t> ParallelRegionEvent::busy_ns() const {
  if (participants_status != Status::kValid) return std::nullopt;
  uint64_t sum = 0;
  for (const RegionParticipant& participant : participants) sum += participant.busy_ns;
  return sum;
}

std::optional<double> ParallelRegionEvent::busy_utilization() const {
  const std::optional<uint64_t> busy = busy_ns();
  if (!busy || admitted_threads <= 0 || wall_time_ns == 0) return std::nullopt;
  return static_cast<double>(*busy) / (static_cast<double>(wall_time_ns) * admitted_threads);
}

std::optional<double> ParallelRegionEvent::imbalance() const {
  const std::optional<uint64_t> busy = busy_ns();
  if (!busy || *busy == 0 || participants.size() < 2) return std::nullopt;
  uint64_t longest = 0;
  for (const RegionParticipant& participant : participants) {
    longest = std::max(longest, participant.busy_ns);
  }
  return static_cast<double>(longest) * static_cast<double>(participants.size()) /
         static_cast<double>(*busy);
}

std::optional<uint64_t> ParallelRegionEvent::worker_cpu_time_ns() const {
  if (participants_status != Status::kValid || participants.empty()) return std::nullopt;
  uint64_t sum = 0;
  for (const RegionParticipant& participant : participants) {
    if (participant.cpu_time_status != Status::kValid) return std::nullopt;
    sum += participant.cpu_time_ns;
  }
  return sum;
}

std::optional<uint64_t> ParallelRegionEvent::idle_core_ns() const {
  const std::optional<uint64_t> busy = busy_ns();
  if (!busy || requested_threads < 0 || nested_inline) return std::nullopt;
  const uint64_t had = wall_time_ns * static_cast<uint64_t>(requested_threads);
  return had > *busy ? had - *busy : 0;
}

}  // namespace inferprobe
