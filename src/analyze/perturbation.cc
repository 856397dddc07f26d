#include "analyze/perturbation.h"

#include <array>
#include <map>
#include <vector>

#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

using profile::Run;
using profile::RunMode;
using profile::Status;

enum Slot : uint8_t { kOff, kNull, kOn, kSlots };

// One group as it fills.
struct Group {
  uint32_t number = 0;
  std::array<int64_t, kSlots> dur_ns = {};  // 0: not there yet
};

struct Ratios {
  std::vector<double> on;
  std::vector<double> null;
  std::vector<double> off_ms;
  std::vector<double> on_ms;

  void Take(const Group& group) {
    if (group.dur_ns[kOff] <= 0 || group.dur_ns[kOn] <= 0) return;
    const auto off = static_cast<double>(group.dur_ns[kOff]);
    const auto with = static_cast<double>(group.dur_ns[kOn]);
    on.push_back(with / off);
    off_ms.push_back(off / 1e6);
    on_ms.push_back(with / 1e6);
    if (group.dur_ns[kNull] > 0) null.push_back(static_cast<double>(group.dur_ns[kNull]) / off);
  }
};

}  // namespace

profile::Perturbation AnalyzePerturbation(const profile::Profile& profile) {
  Ratios ratios;
  std::map<uint16_t, Group> open;  // by process
  for (const Run& run : profile.runs) {
    Slot slot = kSlots;
    if (run.mode == RunMode::kPairOff) slot = kOff;
    if (run.mode == RunMode::kPairNull) slot = kNull;
    if (run.mode == RunMode::kPairOn) slot = kOn;
    if (slot == kSlots || run.group == 0) continue;
    Group& group = open[run.process];
    // A filled slot: the number came round with all others between them lost.
    if (group.number != run.group || group.dur_ns[slot] != 0) {
      ratios.Take(group);
      group = {.number = run.group};
    }
    group.dur_ns[slot] = run.dur_ns;
  }
  for (const auto& [process, group] : open) ratios.Take(group);

  profile::Perturbation result;
  result.pairs = ratios.on.size();
  if (result.pairs == 0) {
    const profile::Missing none{Status::kNotMeasured, "no pair of runs with and without profiling"};
    result.profiled_p50_ms = none;
    result.unprofiled_p50_ms = none;
    result.ratio = none;
    result.interval = none;
    result.null_ratio = none;
    result.null_interval = none;
    return result;
  }
  result.profiled_p50_ms = PercentileOf(Sorted(ratios.on_ms), 0.5);
  result.unprofiled_p50_ms = PercentileOf(Sorted(ratios.off_ms), 0.5);
  const MedianRatio on = MedianOfRatios(ratios.on);
  result.ratio = on.ratio;
  result.interval = on.interval;
  if (ratios.null.empty()) {
    const profile::Missing none{Status::kNotMeasured, "no second run without profiling"};
    result.null_ratio = none;
    result.null_interval = none;
    return result;
  }
  const MedianRatio null = MedianOfRatios(ratios.null);
  result.null_ratio = null.ratio;
  result.null_interval = null.interval;
  return result;
}

}  // namespace inferprobe::analyze
