#include "analyze/busy_time.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

namespace inferprobe::analyze {
namespace {

// By thread, and no two of a thread at once.
std::vector<BusyInterval> UnionOfEachThread(std::span<const BusyInterval> intervals) {
  std::vector<BusyInterval> sorted;
  sorted.reserve(intervals.size());
  std::copy_if(intervals.begin(), intervals.end(), std::back_inserter(sorted),
               [](const BusyInterval& one) { return one.start_ns < one.end_ns; });
  std::sort(sorted.begin(), sorted.end(), [](const BusyInterval& a, const BusyInterval& b) {
    return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
  });
  std::vector<BusyInterval> united;
  united.reserve(sorted.size());
  for (const BusyInterval& one : sorted) {
    const bool goes_on = one.thread != 0 && !united.empty() && united.back().thread == one.thread &&
                         one.start_ns <= united.back().end_ns;
    if (goes_on) {
      united.back().end_ns = std::max(united.back().end_ns, one.end_ns);
    } else {
      united.push_back(one);
    }
  }
  return united;
}

}  // namespace

double TwoBusyNs(std::span<const BusyInterval> intervals) {
  std::vector<std::pair<int64_t, int>> edges;
  edges.reserve(2 * intervals.size());
  for (const BusyInterval& interval : UnionOfEachThread(intervals)) {
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
