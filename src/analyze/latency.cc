#include "analyze/latency.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/statistics.h"
#include "analyze/steady_state.h"

namespace inferprobe::analyze {
namespace {

using profile::Metric;
using profile::Run;
using profile::RunMode;
using profile::Status;

constexpr double kNsPerMs = 1e6;
constexpr double kPercentiles[] = {0.5, 0.9, 0.95, 0.99, 0.999};

double Milliseconds(const Run& run) { return static_cast<double>(run.dur_ns) / kNsPerMs; }

// Whether all processes were steady. One that drifts decides; one that was too short to be tested
// leaves it open.
class Steadiness {
 public:
  void Add(const SteadyState& state, size_t samples) {
    if (samples == 0) return;
    any_ = true;
    if (!state.decided) shortest_ = std::min(shortest_, samples);
    drifts_ = drifts_ || !state.steady;
    start_ = std::max(start_, state.start);
  }

  void Write(profile::WarmUp& warmup) const {
    if (!any_ || (shortest_ < kSteadyStateSamples && !drifts_)) {
      const profile::Missing none =
          any_ ? profile::Missing{Status::kTooFewSamples,
                                  fmt::format("needs {}, has {}", kSteadyStateSamples, shortest_)}
               : profile::Missing{Status::kNotMeasured, "no run was measured"};
      warmup.steady = none;
      warmup.steady_after = none;
      return;
    }
    warmup.steady = !drifts_;
    warmup.steady_after = static_cast<int64_t>(start_);
  }

 private:
  bool any_ = false;
  bool drifts_ = false;
  size_t shortest_ = kSteadyStateSamples;
  size_t start_ = 0;
};

}  // namespace

profile::Latency SummarizeLatency(std::vector<std::vector<double>> samples_ms) {
  profile::Latency latency;
  std::vector<double> all;
  std::vector<double> means;
  for (const std::vector<double>& process : samples_ms) {
    all.insert(all.end(), process.begin(), process.end());
    if (!process.empty()) means.push_back(Mean(process));
  }
  latency.count = all.size();
  latency.samples_ms = std::move(samples_ms);
  std::sort(all.begin(), all.end());
  for (const double p : kPercentiles) {
    latency.percentiles.push_back({p, PercentileOf(all, p), PercentileInterval(all, p)});
  }
  latency.std = SampleStd(all);
  latency.avg_interval = MeanInterval(means);
  if (all.empty()) {
    const profile::Missing none{Status::kNotMeasured, "no run was measured"};
    latency.avg = none;
    latency.min = none;
    latency.max = none;
    latency.rate_single_stream_per_s = none;
    return latency;
  }
  latency.avg = Mean(all);
  latency.min = all.front();
  latency.max = all.back();
  if (*latency.avg > 0) {
    latency.rate_single_stream_per_s = 1000 / *latency.avg;
  } else {
    latency.rate_single_stream_per_s = {Status::kBelowResolution, "the mean is zero"};
  }
  return latency;
}

LatencyAnalysis AnalyzeLatency(const profile::Profile& profile, const LatencyOptions& options) {
  LatencyAnalysis result;
  std::vector<std::vector<double>> samples;
  std::vector<double> first_runs;
  profile::WarmUp& warmup = result.warmup;
  const auto reserve = [&](uint16_t process) {
    const size_t needed = size_t{process} + 1;
    if (samples.size() >= needed) return;
    samples.resize(needed);
    result.runs.resize(needed);
    warmup.samples_ms.resize(needed);
  };
  for (uint32_t i = 0; i < profile.runs.size(); ++i) {
    const Run& run = profile.runs[i];
    if (run.mode == RunMode::kFirst) {
      first_runs.push_back(Milliseconds(run));
    } else if (run.mode == RunMode::kWarmup) {
      reserve(run.process);
      warmup.samples_ms[run.process].push_back(Milliseconds(run));
    } else if (run.mode == RunMode::kLatency) {
      reserve(run.process);
      samples[run.process].push_back(Milliseconds(run));
      result.runs[run.process].push_back(i);
    }
  }
  warmup.requested = options.warmup_requested;
  warmup.rule = "count";
  Steadiness steadiness;
  for (size_t process = 0; process < samples.size(); ++process) {
    std::vector<double>& own = samples[process];
    const SteadyState state = FindSteadyState(own);
    steadiness.Add(state, own.size());
    if (options.find_steady_state) {
      if (state.decided) warmup.rule = "change point";
      const auto cut = static_cast<std::ptrdiff_t>(state.start);
      std::vector<double>& discarded = warmup.samples_ms[process];
      discarded.insert(discarded.end(), own.begin(), own.begin() + cut);
      own.erase(own.begin(), own.begin() + cut);
      result.runs[process].erase(result.runs[process].begin(), result.runs[process].begin() + cut);
    }
    warmup.excluded = std::max<uint64_t>(warmup.excluded, warmup.samples_ms[process].size());
  }
  steadiness.Write(warmup);
  result.latency = SummarizeLatency(std::move(samples));
  std::sort(first_runs.begin(), first_runs.end());
  result.first_run_ms = first_runs.empty()
                            ? Metric<double>(Status::kNotMeasured, "no first run was recorded")
                            : Metric<double>(Quantile(first_runs, 0.5));
  return result;
}

}  // namespace inferprobe::analyze
