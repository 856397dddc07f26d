#include "analyze/disturbances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "analyze/statistics.h"
#include "base/text.h"

namespace inferprobe::analyze {
namespace {

using profile::BlockReading;
using profile::Disturbance;
using profile::Metric;
using profile::Profile;
using profile::RunDisturbance;

constexpr double kNsPerStealTick = 1e7;  // USER_HZ is 100 on every Linux

std::string Runs(size_t n) { return n == 1 ? "1 run was" : fmt::format("{} runs were", n); }

// What one run suffered of one kind; 0: nothing to speak of.
using Amount = std::function<int64_t(const RunDisturbance&)>;

class Finder {
 public:
  Finder(const Profile& profile, const LatencyAnalysis& latency, const DisturbanceLimits& limits)
      : profile_(profile), latency_(latency), limits_(limits) {}

  void TagRuns() {
    const Metric<double>& p50 = latency_.latency.percentiles.empty()
                                    ? kNoPercentile
                                    : latency_.latency.percentiles.front().value;
    const auto share_ns = p50 ? static_cast<int64_t>(*p50 * 1e6 * limits_.delay_share) : int64_t{0};
    const int64_t limit_ns = std::max(share_ns, limits_.delay_ns);
    const auto processes = static_cast<uint16_t>(latency_.runs.size());
    for (uint16_t process = 0; process < processes; ++process) {
      Tag(
          process, "run_queue_delay",
          [limit_ns](const RunDisturbance& run) {
            return run.run_queue_delay_ns > limit_ns ? run.run_queue_delay_ns : 0;
          },
          [](size_t n, int64_t ns) {
            return fmt::format(
                "{} delayed by other work on the CPU (run-queue delay {} in all): quieten the "
                "machine or use fewer threads",
                Runs(n), base::FormatDurationNs(static_cast<double>(ns)));
          },
          true);
      Tag(
          process, "major_faults",
          [](const RunDisturbance& run) { return int64_t{run.major_faults}; },
          [](size_t n, int64_t count) {
            return fmt::format(
                "{} interrupted by {} page faults from disk: memory is short, or the model is not "
                "in memory yet (more --warmup)",
                Runs(n), count);
          },
          false);
      Tag(
          process, "involuntary_switches",
          [](const RunDisturbance& run) { return int64_t{run.involuntary_switches}; },
          [](size_t n, int64_t count) {
            return fmt::format("{} pushed off the CPU ({} involuntary switches)", Runs(n), count);
          },
          false);
    }
  }

  void JudgeSamples() {
    const auto processes = static_cast<uint16_t>(latency_.latency.samples_ms.size());
    for (uint16_t process = 0; process < processes; ++process) {
      const std::vector<double>& samples = latency_.latency.samples_ms[process];
      std::vector<uint32_t> slow = SlowOutliers(samples, limits_.outlier_deviations);
      if (slow.empty()) continue;
      Disturbance found;
      found.kind = "outliers";
      found.process = process;
      found.value = *std::max_element(samples.begin(), samples.end());
      found.unit = "ms";
      found.text = fmt::format(
          "{} far slower than the rest (up to {}): tagged, not removed; on a quiet machine this "
          "points at the program itself",
          Runs(slow.size()), base::FormatDurationNs(*found.value * 1e6));
      found.warning = ManyRuns(slow.size(), samples.size());
      found.runs = std::move(slow);
      found_.push_back(std::move(found));
    }
    if (latency_.warmup.steady && !*latency_.warmup.steady) {
      Disturbance found;
      found.kind = "not_steady";
      found.text =
          "the latency still changed in the second half of the measurement: measure longer "
          "(--duration), or look for what changes with time";
      found.warning = true;
      found_.push_back(std::move(found));
    }
  }

  void JudgeBlocks(std::span<const BlockReading> blocks) {
    std::map<uint16_t, std::vector<const BlockReading*>> by_process;
    for (const BlockReading& block : blocks) {
      if (HasSample(block)) by_process[block.process].push_back(&block);
    }
    for (const auto& [process, own] : by_process) {
      Steal(process, own);
      Quota(process, own);
      Pressure(process, own, "cpu_pressure", "a CPU", &BlockReading::psi_cpu_some_us);
      Pressure(process, own, "io_pressure", "storage", &BlockReading::psi_io_some_us);
      Pressure(process, own, "memory_pressure", "memory", &BlockReading::psi_memory_some_us);
      Frequency(process, own);
      Temperature(process, own);
      ThermalThrottling(process, own);
      Canary(process, own);
    }
  }

  std::vector<Disturbance> Take() { return std::move(found_); }

 private:
  using Own = std::vector<const BlockReading*>;
  static inline const Metric<double> kNoPercentile;

  [[nodiscard]] bool ManyRuns(size_t tagged, size_t all) const {
    return static_cast<double>(tagged) > limits_.warn_runs * static_cast<double>(all);
  }

  void Tag(uint16_t process, const char* kind, const Amount& amount,
           const std::function<std::string(size_t, int64_t)>& text, bool is_time) {
    const std::vector<uint32_t>& runs = latency_.runs[process];
    Disturbance found;
    int64_t sum = 0;
    for (uint32_t i = 0; i < runs.size(); ++i) {
      const int64_t ns = amount(profile_.runs[runs[i]].disturbance);
      if (ns <= 0) continue;
      sum += ns;
      found.runs.push_back(i);
    }
    if (found.runs.empty()) return;
    found.kind = kind;
    found.process = process;
    found.text = text(found.runs.size(), sum);
    found.warning = ManyRuns(found.runs.size(), runs.size());
    if (is_time) {
      found.ns = sum;
    } else {
      found.value = static_cast<double>(sum);
      found.unit = "count";
    }
    found_.push_back(std::move(found));
  }

  // Whether a latency sample and the block overlap. The samples of one process follow each other.
  [[nodiscard]] bool HasSample(const BlockReading& block) const {
    if (block.process >= latency_.runs.size()) return false;
    const std::vector<uint32_t>& runs = latency_.runs[block.process];
    const auto first = std::partition_point(runs.begin(), runs.end(), [&](uint32_t run) {
      return profile_.runs[run].start_ns + profile_.runs[run].dur_ns <= block.start_ns;
    });
    return first != runs.end() && profile_.runs[*first].start_ns < block.end_ns;
  }

  // Samples of `process` that began inside the block.
  [[nodiscard]] std::vector<uint32_t> RunsIn(const BlockReading& block) const {
    std::vector<uint32_t> result;
    if (block.process >= latency_.runs.size()) return result;
    const std::vector<uint32_t>& runs = latency_.runs[block.process];
    for (uint32_t i = 0; i < runs.size(); ++i) {
      const int64_t start = profile_.runs[runs[i]].start_ns;
      if (start >= block.start_ns && start < block.end_ns) result.push_back(i);
    }
    return result;
  }

  void AddBlockFinding(const char* kind, uint16_t process, std::string text, Metric<int64_t> ns,
                       Metric<double> value, const char* unit, bool warning,
                       std::vector<uint32_t> runs) {
    Disturbance found;
    found.kind = kind;
    found.text = std::move(text);
    found.process = process;
    found.runs = std::move(runs);
    found.ns = std::move(ns);
    found.value = std::move(value);
    found.unit = unit;
    found.warning = warning;
    found_.push_back(std::move(found));
  }

  // Sum of what grew in the blocks, and the runs of the blocks in which it did.
  [[nodiscard]] std::pair<int64_t, std::vector<uint32_t>> Total(
      const Own& blocks, Metric<int64_t> BlockReading::* reading) const {
    int64_t sum = 0;
    std::vector<uint32_t> runs;
    for (const BlockReading* block : blocks) {
      const Metric<int64_t>& value = block->*reading;
      if (!value || *value <= 0) continue;
      sum += *value;
      const std::vector<uint32_t> in_block = RunsIn(*block);
      runs.insert(runs.end(), in_block.begin(), in_block.end());
    }
    return {sum, std::move(runs)};
  }

  void Steal(uint16_t process, const Own& blocks) {
    auto [ticks, runs] = Total(blocks, &BlockReading::steal_ticks);
    if (ticks == 0) return;
    const double ns = static_cast<double>(ticks) * kNsPerStealTick;
    AddBlockFinding("steal", process,
                    fmt::format("the hypervisor gave {} of CPU time to others: another machine "
                                "size or host would be quieter",
                                base::FormatDurationNs(ns)),
                    static_cast<int64_t>(ns), {}, "", true, std::move(runs));
  }

  void Quota(uint16_t process, const Own& blocks) {
    auto [us, runs] = Total(blocks, &BlockReading::quota_throttled_us);
    if (us == 0) return;
    AddBlockFinding("quota", process,
                    fmt::format("the CPU quota of this container held its threads back for {}: "
                                "raise the quota, or use fewer threads",
                                base::FormatDurationNs(static_cast<double>(us) * 1e3)),
                    us * 1000, {}, "", true, std::move(runs));
  }

  void ThermalThrottling(uint16_t process, const Own& blocks) {
    auto [times, runs] = Total(blocks, &BlockReading::thermal_throttles);
    if (times == 0) return;
    AddBlockFinding("thermal_throttling", process,
                    fmt::format("the CPU slowed itself down because of heat ({} times): let it "
                                "cool, or measure with pauses",
                                times),
                    {}, static_cast<double>(times), "count", true, std::move(runs));
  }

  void Pressure(uint16_t process, const Own& blocks, const char* kind, const char* what,
                Metric<int64_t> BlockReading::* reading) {
    int64_t waited_us = 0;
    int64_t measured_ns = 0;
    for (const BlockReading* block : blocks) {
      if (!(block->*reading)) continue;
      waited_us += *(block->*reading);
      measured_ns += block->end_ns - block->start_ns;
    }
    const double share =
        measured_ns > 0 ? static_cast<double>(waited_us) * 1e3 / static_cast<double>(measured_ns)
                        : 0;
    if (share < limits_.pressure_share) return;
    // The kernel keeps these totals by clocks of its own, one a CPU.
    const std::string part = share < 0.9995 ? base::FormatPercent(share) : "all";
    AddBlockFinding(kind, process,
                    fmt::format("some task waited for {} during {} of the measurement", what, part),
                    waited_us * 1000, {}, "", true, {});
  }

  void Frequency(uint16_t process, const Own& blocks) {
    int64_t highest = 0;
    int64_t lowest = 0;
    for (const BlockReading* block : blocks) {
      if (!block->freq_khz_max) continue;
      highest = std::max(highest, *block->freq_khz_max);
      lowest = lowest == 0 ? *block->freq_khz_max : std::min(lowest, *block->freq_khz_max);
    }
    if (highest <= 0) return;
    const double drop = 1 - static_cast<double>(lowest) / static_cast<double>(highest);
    if (drop < limits_.frequency_drop) return;
    AddBlockFinding(
        "frequency_changed", process,
        fmt::format("the fastest CPU's clock went from {:.2f} down to {:.2f} GHz: fix "
                    "the governor to \"performance\" or measure warm",
                    static_cast<double>(highest) / 1e6, static_cast<double>(lowest) / 1e6),
        {}, static_cast<double>(lowest), "kHz", true, {});
  }

  void Temperature(uint16_t process, const Own& blocks) {
    double hottest = -1e9;
    for (const BlockReading* block : blocks) {
      if (block->temperature_c) hottest = std::max(hottest, *block->temperature_c);
    }
    if (hottest < limits_.hot_c) return;
    AddBlockFinding(
        "hot", process,
        fmt::format("the machine reached {:.0f} degrees C: it may slow itself down", hottest), {},
        hottest, "celsius", true, {});
  }

  // The canary's fastest block is what this CPU can do; a slower one was throttled or shared.
  void Canary(uint16_t process, const Own& blocks) {
    int64_t fastest = 0;
    for (const BlockReading* block : blocks) {
      if (!block->canary_ns || *block->canary_ns <= 0) continue;
      fastest = fastest == 0 ? *block->canary_ns : std::min(fastest, *block->canary_ns);
    }
    if (fastest == 0) return;
    size_t slow = 0;
    double worst = 1;
    std::vector<uint32_t> runs;
    for (const BlockReading* block : blocks) {
      if (!block->canary_ns || *block->canary_ns <= 0) continue;
      const double ratio = static_cast<double>(*block->canary_ns) / static_cast<double>(fastest);
      if (ratio < 1 + limits_.canary_slower) continue;
      ++slow;
      worst = std::max(worst, ratio);
      const std::vector<uint32_t> in_block = RunsIn(*block);
      runs.insert(runs.end(), in_block.begin(), in_block.end());
    }
    if (slow == 0) return;
    AddBlockFinding("throttled", process,
                    fmt::format("a fixed piece of arithmetic took up to {:.2f} times as long in {} "
                                "of {} blocks: the CPU was throttled or shared",
                                worst, slow, blocks.size()),
                    {}, worst, "ratio", 2 * slow >= blocks.size() || worst > 1.2, std::move(runs));
  }

  const Profile& profile_;
  const LatencyAnalysis& latency_;
  const DisturbanceLimits& limits_;
  std::vector<Disturbance> found_;
};

}  // namespace

std::vector<uint32_t> SlowOutliers(std::span<const double> samples, double limit) {
  std::vector<uint32_t> slow;
  if (samples.size() < 3) return slow;
  const double median = Quantile(Sorted(samples), 0.5);
  std::vector<double> distances(samples.size());
  std::transform(samples.begin(), samples.end(), distances.begin(),
                 [median](double sample) { return std::fabs(sample - median); });
  std::sort(distances.begin(), distances.end());
  // More than half of the samples may be equal (a coarse clock): then any distance would be
  // infinite.
  const double deviation = Quantile(distances, 0.5);
  if (deviation <= 0) return slow;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    if ((samples[i] - median) / deviation > limit) slow.push_back(i);
  }
  return slow;
}

std::vector<profile::Disturbance> FindDisturbances(const Profile& profile,
                                                   const LatencyAnalysis& latency,
                                                   std::span<const BlockReading> blocks,
                                                   const DisturbanceLimits& limits) {
  Finder finder(profile, latency, limits);
  finder.TagRuns();
  finder.JudgeSamples();
  finder.JudgeBlocks(blocks);
  return finder.Take();
}

}  // namespace inferprobe::analyze
