#include "measure/perf.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "analyze/disturbances.h"
#include "analyze/latency.h"
#include "analyze/modules.h"
#include "analyze/operators.h"
#include "analyze/perturbation.h"
#include "analyze/regions.h"
#include "analyze/statistics.h"
#include "base/atomic_file.h"
#include "base/files.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/result_json/result_json.h"
#include "measure/engine_registry.h"
#include "measure/machine/environment.h"
#include "measure/model_name.h"
#include "measure/regions_hook.h"
#include "measure/worker_client.h"
#include "measure/worker_command.h"
#include "profile/delegate_note.h"

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Profile;
using profile::RunMode;
using profile::Status;

// The files that a measurement reads: they are never written, whatever --force says.
std::vector<std::string> FilesRead(const PerfOptions& options) {
  std::vector<std::string> files = options.data_files;
  files.push_back(SplitModelName(options.model).file);
  for (const std::string& input : options.inputs) {
    files.push_back(input);
    // "name=file.npy": a name may hold '=', too.
    for (size_t at = input.find('='); at != std::string::npos; at = input.find('=', at + 1)) {
      files.push_back(input.substr(at + 1));
    }
  }
  return files;
}

// The settings of delegates, in the words of `perf`: a worker would name a delegate's keys.
Result<void> CheckLevel(const PerfOptions& options) {
  auto level = ParseProfileLevel("level", options.level);
  if (!level) return tl::unexpected(level.error());
  auto format = ParseProfileFormat("profile-format", options.profile_format);
  if (!format) return tl::unexpected(format.error());
  const std::string& folder = options.profile_path_prefix;
  if (*format == ProfileFormat::kEtdump) {
    if (folder.empty()) return {};
    return MakeError(ErrorCode::kInvalidArgument,
                     "profile-path-prefix is given, and the profile format etdump writes no files",
                     "add --profile-format perfetto or trex");
  }
  if (*level == ProfileLevel::kOff) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("profile format {}: at level off nothing is recorded", options.profile_format),
        "give a level of delegate, phases or layers");
  }
  if (folder.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("profile format {} writes files: it needs a folder for them",
                                 options.profile_format),
                     "add --profile-path-prefix FOLDER");
  }
  if (const int error = base::WhyFolderNotWritable(folder); error != 0) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("profile-path-prefix {}: {}", folder, base::SystemErrorText(error)),
        "give a folder that exists and may be written to");
  }
  return {};
}

// Everything that can be refused before work starts is refused here.
Result<void> CheckOptions(PerfOptions* options) {
  INFERPROBE_RETURN_IF_ERROR(base::CheckReadableFile(SplitModelName(options->model).file));
  if (options->iterations && options->duration_s) {
    return MakeError(ErrorCode::kInvalidArgument, "iterations and duration cannot both be given");
  }
  // Also refuses what is no number.
  if (options->duration_s && !(*options->duration_s >= 0.001 && *options->duration_s <= 86400)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("a duration of {} s is not in 0.001 to 86400", *options->duration_s));
  }
  if (options->iterations && *options->iterations == 0) {
    return MakeError(ErrorCode::kInvalidArgument, "iterations must be at least 1");
  }
  if (options->processes < 1 || options->processes > 1000) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} processes are not in 1 to 1000", options->processes));
  }
  INFERPROBE_RETURN_IF_ERROR(CheckLevel(*options));
  if (!options->regions.empty()) {
    if (auto detail = ParseRegionDetail(options->regions); !detail) {
      return tl::unexpected(detail.error());
    }
  }
  if (options->ring_events == 0) {
    options->ring_events = uint32_t{1} << 16;
    if (!options->regions.empty()) {
      options->ring_events = std::max(
          options->ring_events, RingEventsForRegions(std::max<int64_t>(
                                    static_cast<int64_t>(AllowedCpus().size()), options->threads)));
    }
  }
  if (options->engine.empty()) {
    auto engine = EngineForFile(options->model);
    if (!engine) return tl::unexpected(engine.error());
    options->engine = *engine;
  }
  const EngineInfo* known = KnownEngine(options->engine);
  if (known == nullptr || !known->in_python) {
    if (auto plugin = FindPlugin(options->engine); !plugin) return tl::unexpected(plugin.error());
  }
  const auto overwrite = options->force ? base::Overwrite::kForce : base::Overwrite::kRefuse;
  const std::vector<std::string> read = FilesRead(*options);
  std::vector<std::string> outputs;
  for (const std::string* path : {&options->output, &options->trace, &options->etdump}) {
    if (path->empty()) continue;
    for (const std::string& file : read) {
      if (!base::SameFile(*path, file)) continue;
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} is read by this measurement: it is not overwritten", *path),
                       "give the output another name");
    }
    for (const std::string& other : outputs) {
      if (base::SameFile(*path, other) || base::SameFile(*path, other + ".partial") ||
          base::SameFile(*path + ".partial", other)) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("{} and {} are one file for two outputs", other, *path));
      }
    }
    outputs.push_back(*path);
    INFERPROBE_RETURN_IF_ERROR(base::CheckWritable(*path, overwrite));
  }
  if (options->run_id.empty()) options->run_id = base::RandomHex128();
  return {};
}

std::string NowText() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

Metric<double> MedianMs(const std::vector<double>& values_ms, const char* why) {
  if (values_ms.empty()) return {Status::kNotMeasured, why};
  return analyze::Quantile(analyze::Sorted(values_ms), 0.5);
}

// Of several processes, the worst.
void MergeOutputs(const profile::OutputCheck& one, profile::OutputCheck* all) {
  const auto is_no = [](const Metric<bool>& flag) { return flag && !*flag; };
  if (one.verdict == profile::OutputCheck::Verdict::kMismatch &&
      all->verdict != profile::OutputCheck::Verdict::kMismatch) {
    all->verdict = one.verdict;
    all->text = one.text;
  }
  if (one.max_abs_error && all->max_abs_error && *one.max_abs_error > *all->max_abs_error) {
    all->max_abs_error = one.max_abs_error;
  }
  if (is_no(one.repeatable)) all->repeatable = one.repeatable;
  if (is_no(one.profiled_equal)) all->profiled_equal = one.profiled_equal;
}

// One `perf`: the workers, one after another, and what comes of them.
class Perf {
 public:
  Perf(PerfOptions options, ProgressSink progress, const std::atomic<bool>* cancel)
      : options_(std::move(options)), progress_(std::move(progress)), cancel_(cancel) {}

  Result<profile::PerfResult> Run();

 private:
  Result<void> OpenTrace();
  Result<void> RunProcess(uint16_t process);
  void Describe(profile::PerfResult* result) const;
  void Analyze(profile::PerfResult* result) const;
  void WriteFiles(profile::PerfResult* result);
  [[nodiscard]] Metric<profile::RegionReport> Regions(
      const profile::PerfResult& result, const std::vector<profile::BlockReading>& blocks) const;
  // Of recording one event, as the workers have calibrated it.
  [[nodiscard]] Metric<double> EventCostNs() const;
  // Leaves the partial trace where there is something in it.
  void GiveUpTrace();
  [[nodiscard]] base::Overwrite overwrite() const {
    return options_.force ? base::Overwrite::kForce : base::Overwrite::kRefuse;
  }

  PerfOptions options_;
  WorkerCommand worker_;
  ProgressSink progress_;
  const std::atomic<bool>* cancel_;
  std::string started_at_ = NowText();
  Profile profile_;
  std::optional<perfetto::Writer> trace_;
  std::optional<Error> trace_error_;  // why there is none any more
  std::vector<WorkerOutcome> outcomes_;
};

Result<void> Perf::OpenTrace() {
  if (options_.trace.empty()) return {};
  auto file = base::AtomicFile::Create(options_.trace, overwrite());
  if (!file) return tl::unexpected(file.error());
  auto writer = perfetto::Writer::Create(std::move(*file), &profile_);
  if (!writer) return tl::unexpected(writer.error());
  trace_.emplace(std::move(*writer));
  return {};
}

Result<void> Perf::RunProcess(uint16_t process) {
  WorkerClient::Sinks sinks;
  sinks.imported = [this](const profile::DrainedRange& imported) -> Result<void> {
    if (!trace_) return {};
    auto appended = trace_->Append(imported.first_slice, imported.slice_count,
                                   imported.first_counter, imported.counter_count);
    if (!appended) {
      // A full disk costs the trace, not the measurement.
      trace_error_ = std::move(appended).error();
      trace_.reset();
    }
    return {};
  };
  sinks.phase = [this, process](const PhaseMessage& phase) {
    if (!progress_) return;
    progress_({phase.phase, process, options_.processes, phase.done, phase.total, phase.seconds});
  };
  sinks.notice = [this, process](const std::string& notice) {
    if (progress_) progress_({"", process, options_.processes, 0, 0, 0, notice});
  };
  WorkerClient client(&profile_, std::move(sinks), cancel_);
  PlanMessage plan;
  plan.options = options_;
  plan.process = process;
  auto outcome = client.Run(worker_, plan);
  if (!outcome) return tl::unexpected(outcome.error());
  outcomes_.push_back(std::move(*outcome));
  return {};
}

void Perf::Describe(profile::PerfResult* result) const {
  result->tool_version = INFERPROBE_VERSION;
  result->run_id = options_.run_id;
  result->started_at = started_at_;
  result->environment = DescribeEnvironment();
  result->settings.method = options_.method;
  if (options_.iterations) {
    result->settings.iterations = static_cast<int64_t>(*options_.iterations);
  } else {
    result->settings.iterations = {Status::kNotRequested, "--iterations fixes it"};
  }
  if (options_.duration_s) {
    result->settings.duration_s = *options_.duration_s;
  } else {
    result->settings.duration_s = {Status::kNotRequested, "--duration fixes it"};
  }
  result->settings.warmup = options_.warmup;
  result->settings.processes = options_.processes;
  if (options_.threads > 0) {
    result->settings.threads = int64_t{options_.threads};
  } else {
    result->settings.threads = {Status::kNotRequested, "the engine's default; --threads sets it"};
  }
  result->settings.seed = options_.seed.value_or(0);
  result->settings.level = options_.level;
  for (const std::string& one : options_.delegate_levels) result->settings.level += ", " + one;

  // By process: what its run and load slices say.
  std::vector<profile::ProcessResult> processes(outcomes_.size());
  std::map<int64_t, size_t> by_pid;
  for (size_t k = 0; k < outcomes_.size(); ++k) by_pid[outcomes_[k].pid] = k;
  profile::DelegateNotes notes(&profile_);
  for (const profile::Slice& slice : profile_.slices) {
    if (slice.category != profile::Category::kLoad) continue;
    if (notes.IsHostWall(slice, profile::kDelegateLoad)) continue;  // of the profiled instance
    const auto found = by_pid.find(profile_.tracks[slice.track].pid);
    if (found == by_pid.end()) continue;
    processes[found->second].load_ms = static_cast<double>(slice.dur_ns) / 1e6;
  }
  for (const profile::Run& run : profile_.runs) {
    profile::ProcessResult& process = processes[run.process];
    if (run.mode == RunMode::kFirst) process.first_run_ms = static_cast<double>(run.dur_ns) / 1e6;
    process.latency_runs += run.mode == RunMode::kLatency ? 1 : 0;
    process.profiled_runs += run.mode == RunMode::kPairOn ? 1 : 0;
  }

  std::vector<double> loads;
  bool any_done = false;
  for (size_t k = 0; k < outcomes_.size(); ++k) {
    const WorkerOutcome& outcome = outcomes_[k];
    profile::ProcessResult& process = processes[k];
    process.index = static_cast<uint16_t>(k);
    process.pid = outcome.pid;
    if (outcome.failure) process.failure = outcome.failure->message;
    if (process.load_ms) loads.push_back(*process.load_ms);
    if (outcome.loaded) {
      result->model = outcome.loaded->model;
      result->engine = outcome.loaded->engine;
    }
    if (outcome.done) {
      result->model = outcome.done->model;
      if (!outcome.done->unwritten_sidecar.empty()) {
        result->unwritten.push_back({ErrorCode::kIo, outcome.done->unwritten_sidecar, ""});
      }
      if (!any_done) {
        result->memory = outcome.done->memory;
        result->outputs = outcome.done->outputs;
      }
      any_done = true;
      MergeOutputs(outcome.done->outputs, &result->outputs);
      const auto& peak = outcome.done->memory.peak_rss_bytes;
      if (peak && result->memory.peak_rss_bytes && *peak > *result->memory.peak_rss_bytes) {
        result->memory.peak_rss_bytes = peak;
      }
    }
  }
  result->processes = std::move(processes);
  result->clock = profile_.clock;
  result->load_ms = MedianMs(loads, "the program was not loaded");
}

void Perf::Analyze(profile::PerfResult* result) const {
  // With --iterations the user has said how many runs count; otherwise a slow start is cut off.
  analyze::LatencyAnalysis latency = analyze::AnalyzeLatency(
      profile_, {.warmup_requested = options_.warmup, .find_steady_state = !options_.iterations});
  result->latency = latency.latency;
  result->warmup = latency.warmup;
  result->first_run_ms = latency.first_run_ms;
  result->perturbation = analyze::AnalyzePerturbation(profile_);
  std::vector<profile::BlockReading> blocks;
  for (const WorkerOutcome& outcome : outcomes_) {
    blocks.insert(blocks.end(), outcome.blocks.begin(), outcome.blocks.end());
  }
  result->disturbances = analyze::FindDisturbances(profile_, latency, blocks);
  const Metric<double> event_cost = EventCostNs();
  analyze::OperatorTable table = analyze::BuildOperators(
      profile_, result->model, {result->model.method, event_cost ? *event_cost : 0});
  result->ops = std::move(table.ops);
  result->delegates = std::move(table.delegates);
  result->delegate_summary = table.delegate_summary;
  result->unattributed_ns = table.unattributed_ns;
  result->profiled_runs = table.runs;
  result->profiled_mean_ns = table.mean_ns;
  result->losses = profile_.losses;
  result->losses.Merge(table.losses);
  result->regions = Regions(*result, blocks);
  result->modules = analyze::AnalyzeModules(profile_, result->model);
}

// An engine whose loops are not seen has none to show, which is not the same as having none.
Metric<profile::RegionReport> Perf::Regions(
    const profile::PerfResult& result, const std::vector<profile::BlockReading>& blocks) const {
  for (const WorkerOutcome& outcome : outcomes_) {
    if (outcome.loaded && !outcome.loaded->region_sources) {
      return outcome.loaded->region_sources.missing();
    }
  }
  auto regions =
      analyze::AnalyzeRegions(profile_, result, {options_.regions, result.environment.core_types});
  if (!regions) return regions;
  profile::RegionReport report = *std::move(regions);
  report.process_cpu_ns = analyze::ProcessCpuNs(profile_, blocks);
  return report;
}

Metric<double> Perf::EventCostNs() const {
  Metric<double> cost;
  for (const WorkerOutcome& outcome : outcomes_) {
    if (outcome.loaded) cost = outcome.loaded->event_cost_ns;
  }
  return cost;
}

void Perf::WriteFiles(profile::PerfResult* result) {
  if (progress_) progress_({"write", 0, options_.processes, 0, 0, 0});
  const auto keep_error = [result](const Result<void>& written) {
    if (!written) result->unwritten.push_back(written.error());
  };
  if (trace_error_) result->unwritten.push_back(*trace_error_);
  if (trace_) {
    result->losses.Merge(trace_->losses());
    // What analysis adds to the losses is found again in the trace.
    profile::LossCounts losses = profile_.losses;
    losses.Merge(trace_->losses());
    keep_error(
        trace_->Finish(perfetto::NotesOf(profile_, result->model, result->engine, EventCostNs(),
                                         result->settings.iterations, losses)));
  }
  if (!options_.etdump.empty()) {
    keep_error(etdump::WriteEtdump(profile_, options_.etdump, overwrite()));
  }
  if (!options_.output.empty()) {
    keep_error(base::WriteFileAtomically(options_.output, result_json::WriteResultJson(*result),
                                         overwrite()));
  }
}

void Perf::GiveUpTrace() {
  if (trace_ && !profile_.slices.empty()) trace_->Abandon();
}

Result<profile::PerfResult> Perf::Run() {
  INFERPROBE_RETURN_IF_ERROR(CheckOptions(&options_));
  auto worker = WorkerCommandFor(options_.engine, options_.worker_program, options_.python);
  if (!worker) return tl::unexpected(worker.error());
  worker_ = std::move(*worker);
  profile_.run_id = options_.run_id;
  profile_.process_name = "inferprobe worker";
  INFERPROBE_RETURN_IF_ERROR(OpenTrace());
  for (uint32_t process = 0; process < options_.processes; ++process) {
    if (auto run = RunProcess(static_cast<uint16_t>(process)); !run) {
      GiveUpTrace();
      return tl::unexpected(std::move(run).error());
    }
    const WorkerOutcome& outcome = outcomes_.back();
    // The engine's own refusal (a wrong input, a missing operator) will be the same next time.
    if (outcome.failure && !outcome.died && !outcome.done) break;
  }

  profile::PerfResult result;
  Describe(&result);
  uint64_t latency_runs = 0;
  for (const profile::ProcessResult& process : result.processes) {
    latency_runs += process.latency_runs;
  }
  if (latency_runs == 0) {
    if (outcomes_.back().died) GiveUpTrace();
    return tl::unexpected(outcomes_.back().failure.value_or(
        Error{ErrorCode::kInternal, "the worker measured nothing", ""}));
  }
  Analyze(&result);
  WriteFiles(&result);
  return result;
}

}  // namespace

Result<profile::PerfResult> RunPerf(const PerfOptions& options, const ProgressSink& progress,
                                    const std::atomic<bool>* cancel) {
  return Perf(options, progress, cancel).Run();
}

}  // namespace inferprobe::measure
