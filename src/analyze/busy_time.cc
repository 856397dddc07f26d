#include "analyze/busy_time.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace inferprobe::analyze {

double TwoBusyNs(std::span<const BusyInterval> intervals) {
  std::vector<std::pair<int64_t, int>> edges;
  edges.reserve(2 * intervals.size());
  for (const BusyInterval& interval : intervals) {
    if (interval.end_ns <= interval.start_ns) continue;
    edges.emplace_back(interval.start_ns, 1);
    edges.emplace_back(interval.end_ns, -1);
  }
  std::sort(edges.begin(), edges.end());  // an end before a start at the same time
  double two_busy_ns = 0;
  int64_t busy = 0;
  int64_t since_ns = 0;
  for (const auto& [time_ns, step] : edges) {
    // As doubles: the ends of hostile intervals are further apart than 64 bits hold.
    if (busy >= 2) two_busy_ns += static_cast<double>(time_ns) - static_cast<double>(since_ns);
    busy += step;
    since_ns = time_ns;
  }
  return two_busy_ns;
}

}  // namespace inferprobe::analyze
