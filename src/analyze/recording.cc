#include "analyze/recording.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>

#include "analyze/disturbances.h"
#include "analyze/latency.h"
#include "analyze/modules.h"
#include "analyze/operators.h"
#include "analyze/perturbation.h"
#include "analyze/regions.h"
#include "analyze/slice_table.h"
#include "analyze/statistics.h"
#include "analyze/sum_table.h"
#include "profile/delegate_note.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Metric;
using profile::PerfResult;
using profile::Profile;
using profile::Recording;
using profile::RunMode;
using profile::Slice;
using profile::Status;

// A chain of parents longer than this is a circle in a broken recording.
constexpr int kDeepest = 512;

// Slices of other tracks (what an engine reported) go with those beside them.
bool Inside(const Profile& profile, const Slice& method, size_t at) {
  const Slice& slice = profile.slices[at];
  if (slice.track != method.track) {
    return profile.tracks[slice.track].kind != profile::Kind::kHostWall;
  }
  return slice.start_ns >= method.start_ns &&
         slice.start_ns + slice.dur_ns <= method.start_ns + method.dur_ns;
}

bool HasMethodAbove(const Profile& profile, const Slice& slice) {
  uint32_t at = slice.parent;
  for (int steps = 0; at < profile.slices.size() && steps < kDeepest; ++steps) {
    if (profile.slices[at].category == Category::kMethod) return true;
    at = profile.slices[at].parent;
  }
  return false;
}

// When the recording began, where the clocks are related.
std::string StartedAt(const Profile& profile) {
  if (profile.clock.realtime_minus_monotonic_ns == 0 || profile.slices.empty()) return "";
  int64_t first_ns = profile.slices.front().start_ns;
  for (const Slice& slice : profile.slices) {
    if (!profile.tracks[slice.track].in_ticks) first_ns = std::min(first_ns, slice.start_ns);
  }
  int64_t unix_ns = 0;
  if (__builtin_add_overflow(first_ns, profile.clock.realtime_minus_monotonic_ns, &unix_ns)) {
    return "";
  }
  const std::chrono::system_clock::time_point when{std::chrono::nanoseconds(unix_ns)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::floor<std::chrono::seconds>(when)));
}

void DescribeSettings(const Recording& recording, PerfResult* result) {
  const profile::Missing unknown{Status::kUnavailable, "the file does not tell"};
  profile::Settings& settings = result->settings;
  settings.iterations = recording.iterations ? recording.iterations : Metric<int64_t>(unknown);
  settings.duration_s = unknown;
  settings.threads = unknown;
  settings.method = recording.model.method;
  settings.level = "delegate";
  uint64_t processes = 1;
  for (const profile::Run& run : recording.profile.runs) {
    processes = std::max<uint64_t>(processes, uint64_t{run.process} + 1);
    settings.warmup += run.mode == RunMode::kWarmup ? 1 : 0;
  }
  settings.warmup /= processes;
  settings.processes = processes;
}

Metric<double> LoadMs(const Profile& profile) {
  std::vector<double> loads_ms;
  profile::DelegateNotes notes(&profile);
  for (const Slice& slice : profile.slices) {
    const bool inner = slice.parent < profile.slices.size() &&
                       profile.slices[slice.parent].category == Category::kLoad;
    if (slice.category != Category::kLoad || inner) continue;
    if (notes.IsHostWall(slice, profile::kDelegateLoad)) continue;  // a part, wherever it lies
    loads_ms.push_back(static_cast<double>(slice.dur_ns) / 1e6);
  }
  if (loads_ms.empty()) return {Status::kNotMeasured, "the file holds no loading"};
  return Quantile(Sorted(std::move(loads_ms)), 0.5);
}

}  // namespace

void FindRuns(Profile* profile) {
  if (profile->runs_marked) return;
  const std::vector<Slice>& slices = profile->slices;
  size_t behind = 0;  // what is in an earlier run is in no other
  for (size_t i = 0; i < slices.size(); ++i) {
    const Slice& method = slices[i];
    if (i < behind || method.category != Category::kMethod || HasMethodAbove(*profile, method))
      continue;
    size_t begin = i;
    while (begin > behind && Inside(*profile, method, begin - 1)) --begin;
    size_t end = i + 1;
    while (end < slices.size() && Inside(*profile, method, end)) ++end;
    profile::Run run;
    run.mode = RunMode::kProfiled;
    run.start_ns = method.start_ns;
    run.dur_ns = method.dur_ns;
    run.first_slice = static_cast<uint32_t>(begin);
    run.slice_count = static_cast<uint32_t>(end - begin);
    profile->runs.push_back(run);
    behind = end;
  }
}

PerfResult AnalyzeRecording(const Recording& recording) {
  const Profile& profile = recording.profile;
  PerfResult result;
  result.tool_version = INFERPROBE_VERSION;
  result.run_id = profile.run_id;
  result.started_at = StartedAt(profile);
  result.source = recording.source;
  result.model = recording.model;
  result.engine = recording.engine;
  result.clock = profile.clock;
  DescribeSettings(recording, &result);
  result.load_ms = LoadMs(profile);

  LatencyAnalysis latency = AnalyzeLatency(profile, {.warmup_requested = result.settings.warmup,
                                                     .find_steady_state = !recording.iterations});
  result.latency = latency.latency;
  result.warmup = latency.warmup;
  result.first_run_ms = latency.first_run_ms;
  result.perturbation = AnalyzePerturbation(profile);
  result.disturbances = FindDisturbances(profile, latency, {});

  OperatorTable table =
      BuildOperators(profile, recording.model, {.event_cost_ns = recording.event_cost_ns});
  result.ops = std::move(table.ops);
  result.delegates = std::move(table.delegates);
  result.delegate_summary = table.delegate_summary;
  result.unattributed_ns = table.unattributed_ns;
  result.profiled_runs = table.runs;
  result.profiled_mean_ns = table.mean_ns;
  result.regions = AnalyzeRegions(profile, result, {});
  result.modules = AnalyzeModules(profile, recording.model);
  if (table.runs == 0) {
    result.slices =
        SummarizeSlices(profile, &table.losses, {.without_modules = result.modules.has_value()});
  }
  result.sums = SummarizeSums(profile);
  result.losses = profile.losses;
  result.losses.Merge(table.losses);
  return result;
}

}  // namespace inferprobe::analyze
