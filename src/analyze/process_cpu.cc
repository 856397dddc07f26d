// CPU time of the process for one inference: of blocks, as the clock is too slow for a run.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyze/regions.h"
#include "base/text.h"

namespace inferprobe::analyze {
namespace {

using profile::BlockReading;
using profile::Metric;
using profile::Missing;
using profile::Profile;
using profile::RunMode;
using profile::Status;

// The kernel adds what runs on another CPU at its next tick, 1 to 10 ms later.
constexpr int64_t kLeastNs = 100'000'000;

}  // namespace

Metric<double> ProcessCpuNs(const Profile& profile, std::span<const BlockReading> blocks) {
  // Starts of runs without profiling, by process. A block holds runs of one kind.
  std::vector<std::vector<int64_t>> starts;
  for (const profile::Run& run : profile.runs) {
    if (run.mode != RunMode::kLatency) continue;
    if (starts.size() <= run.process) starts.resize(size_t{run.process} + 1);
    starts[run.process].push_back(run.start_ns);
  }
  for (std::vector<int64_t>& of_process : starts) std::sort(of_process.begin(), of_process.end());
  int64_t cpu_ns = 0;
  int64_t wall_ns = 0;
  int64_t runs = 0;
  for (const BlockReading& block : blocks) {
    if (block.process >= starts.size()) continue;
    const std::vector<int64_t>& own = starts[block.process];
    const auto first = std::lower_bound(own.begin(), own.end(), block.start_ns);
    const auto last = std::lower_bound(own.begin(), own.end(), block.end_ns);
    if (first >= last) continue;
    if (!block.process_cpu_ns) return block.process_cpu_ns.missing();
    if (!block.outside_cpu_ns) return block.outside_cpu_ns.missing();
    cpu_ns += *block.process_cpu_ns - *block.outside_cpu_ns;
    wall_ns += block.end_ns - block.start_ns;
    runs += last - first;
  }
  if (runs == 0) return Missing{Status::kNotMeasured, "no run without profiling was timed"};
  if (wall_ns < kLeastNs) {
    return Missing{Status::kBelowResolution,
                   fmt::format("{} of runs; process CPU time needs 100 ms",
                               base::FormatDurationNs(static_cast<double>(wall_ns)))};
  }
  return static_cast<double>(std::max<int64_t>(cpu_ns, 0)) / static_cast<double>(runs);
}

}  // namespace inferprobe::analyze
