#include "measure/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>

#include "analyze/steady_state.h"
#include "analyze/stop_rule.h"
#include "base/message_channel.h"
#include "inferprobe/recorder.h"
#include "inferprobe/session.h"
#include "measure/engine_registry.h"
#include "measure/inputs/inputs.h"
#include "measure/machine/cpu_meter.h"
#include "measure/machine/disturbance.h"
#include "measure/machine/system_file.h"
#include "measure/machine/system_text.h"
#include "measure/output_check.h"
#include "measure/regions_hook.h"
#include "measure/run_loop.h"
#include "measure/wire.h"
#include "record/calibrate.h"
#include "record/ring_writer.h"

namespace inferprobe::measure {
namespace {

using profile::RunMode;

constexpr int64_t kProfileBudgetNs = 2'000'000'000;
constexpr uint64_t kProfiledWarmUps = 3;

// VmHWM: ru_maxrss of a child would start at its parent's.
profile::Metric<int64_t> PeakResidentBytes() {
  const profile::Metric<std::string> text = ReadSystemFile({}, "/proc/self/status");
  if (!text) return text.missing();
  std::string_view value = ValueOfKey(*text, "VmHWM");
  value.remove_suffix(value.ends_with(" kB") ? 3 : 0);
  const profile::Metric<int64_t> kilobytes = ParseInteger(value);
  if (!kilobytes) return kilobytes.missing();
  return *kilobytes * 1024;
}

// What each run cost besides its own work.
class DisturbanceLedger final : public RunHook {
 public:
  // `cpu_time`: of blocks, too.
  explicit DisturbanceLedger(bool cpu_time) {
    if (cpu_time) cpu_.emplace();
  }
  void BeforeRun(RunMode mode) override {
    meter_.Begin();
    if (cpu_) cpu_->BeforeRun(mode);
  }
  void AfterRun(RunMode mode) override {
    if (cpu_) cpu_->AfterRun(mode);
    last_run_ = meter_.End();
  }
  void BeginBlock() {
    if (cpu_) cpu_->BeginBlock();
  }
  void EndBlock(profile::BlockReading* reading) const {
    reading->process_cpu_ns =
        reading->outside_cpu_ns = {profile::Status::kNotRequested, "perf --regions"};
    if (cpu_) cpu_->EndBlock(reading);
  }
  [[nodiscard]] const profile::RunDisturbance& last_run() const { return last_run_; }

 private:
  RunCostMeter meter_;
  std::optional<CpuMeter> cpu_;
  profile::RunDisturbance last_run_;
};

// The life of one worker: from the plan to `done`.
class Worker {
 public:
  explicit Worker(base::MessageChannel channel) : channel_(std::move(channel)) {}

  Result<void> Serve();
  void Report(const Error& error) { (void)Send(ErrorMessage{error}); }

 private:
  Result<void> Send(const Message& message) { return channel_.Send(Encode(message)); }
  Result<void> SendPhase(const char* phase, uint64_t done, uint64_t total, double seconds) {
    return Send(PhaseMessage{phase, done, total, seconds});
  }
  Result<Message> Next();
  Result<void> Describe();
  Result<void> Perf();
  Result<void> Load();
  Result<void> ChooseInputs();
  Result<void> MeasureAndDrain(RunLoop* loop);
  Result<void> Measure(RunLoop* loop);
  Result<void> DrainRings();

  base::MessageChannel channel_;
  PlanMessage plan_;
  std::optional<RuntimeSession> session_;
  Engine* engine_ = nullptr;  // the session's
  internal::ThreadRing* ring_ = nullptr;
  RegionsHook* regions_ = nullptr;  // where they are looked at
  profile::ModelFacts model_;
  std::vector<BundledCase> cases_;  // whose outputs are checked
  profile::OutputCheck outputs_;
};

Result<Message> Worker::Next() {
  auto received = channel_.Receive(-1);
  if (!received) return tl::unexpected(received.error());
  if (received->what != base::Received::What::kMessage) {
    return MakeError(ErrorCode::kCrashed, "the parent process is gone");
  }
  return Decode(received->message);
}

Result<void> Worker::Serve() {
  auto message = Next();
  if (!message) return tl::unexpected(message.error());
  const auto* plan = std::get_if<PlanMessage>(&*message);
  if (plan == nullptr) return MakeError(ErrorCode::kInternal, "the first message is no plan");
  plan_ = *plan;
  return plan_.describe ? Describe() : Perf();
}

Result<void> Worker::Describe() {
  auto plugin = LoadPlugin(plan_.options.engine);
  if (!plugin) return tl::unexpected(plugin.error());
  const Result<EngineDescription> description = (*plugin)->Describe();
  if (!description) return tl::unexpected(description.error());
  return Send(DescribedMessage{description->name, description->title, description->version,
                               description->backends, description->notes, description->regions});
}

Result<void> Worker::DrainRings() {
  INFERPROBE_RETURN_IF_ERROR(Send(DrainMessage{}));
  auto answer = Next();
  if (!answer) return tl::unexpected(answer.error());
  if (!std::holds_alternative<DrainedMessage>(*answer)) {
    return MakeError(ErrorCode::kInternal, "the answer to a drain is no \"drained\"");
  }
  return {};
}

Result<void> Worker::Load() {
  // The plugin's libraries are not part of the model's load.
  auto plugin = LoadPlugin(plan_.options.engine);
  if (!plugin) return tl::unexpected(plugin.error());

  RuntimeSessionOptions load;
  load.engine = plan_.options.engine;
  load.method = plan_.options.method;
  load.data_files = plan_.options.data_files;
  load.threads = plan_.options.threads;
  auto level = ParseProfileLevel("level", plan_.options.level);
  if (!level) return tl::unexpected(level.error());
  auto format = ParseProfileFormat("profile-format", plan_.options.profile_format);
  if (!format) return tl::unexpected(format.error());
  load.level = *level;
  load.profile_format = *format;
  load.profile_path_prefix = plan_.options.profile_path_prefix;
  load.profile_overwrite = plan_.options.force;
  if (plan_.options.processes > 1) {  // each has files of its own
    load.profile_model = fmt::format(
        "{}-process{}", std::filesystem::path(plan_.options.model).stem().string(), plan_.process);
  }
  load.delegate_levels = plan_.options.delegate_levels;
  load.delegates = plan_.options.delegates;
  const uint64_t start = NowTicks();
  auto session = RuntimeSession::Load(plan_.options.model, load);
  const uint64_t end = NowTicks();
  if (!session) return tl::unexpected(session.error());
  session_.emplace(std::move(*session));
  engine_ = &session_->engine();
  const record::OpenedSlice slice = record::OpenSlice(ring_);
  record::CloseSlice(ring_, slice);
  record::Publish(ring_, record::Cell{start, end, record::InternName("load"), slice.id, 0,
                                      record::PackInfo(record::CellType::kLoad, 0)});
  return {};
}

Result<void> Worker::ChooseInputs() {
  INFERPROBE_RETURN_IF_ERROR(engine_->ExpectInputs(plan_.options.inputs, plan_.options.shapes));
  model_ = engine_->model();
  const std::vector<TensorSpec> specs = engine_->inputs();
  std::vector<Tensor> inputs;
  std::vector<std::string> sources;
  if (plan_.options.inputs.empty() && plan_.options.shapes.empty() && !plan_.options.seed) {
    cases_ = engine_->bundled_cases();
  }
  if (!cases_.empty()) {
    inputs = cases_.front().inputs;
    const std::string& source = cases_.front().source;
    sources.assign(inputs.size(), source.empty() ? "bundled case 0" : source);
  } else {
    auto resolved = ResolveInputs(
        specs, {plan_.options.inputs, plan_.options.shapes, plan_.options.seed.value_or(0)});
    if (!resolved) return tl::unexpected(resolved.error());
    inputs = std::move(resolved->tensors);
    sources = std::move(resolved->sources);
  }
  model_.inputs.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    profile::InputFacts facts;
    facts.spec = specs[i];
    facts.spec.shape = inputs[i].shape;
    facts.source = sources[i];
    model_.inputs.push_back(std::move(facts));
  }
  return engine_->SetInputs(std::move(inputs));
}

bool EnoughRemains(const analyze::StopRule& rule, std::span<const int64_t> samples_ns,
                   int64_t elapsed_ns) {
  const std::vector<double> samples(samples_ns.begin(), samples_ns.end());
  const size_t start = analyze::FindSteadyState(samples).start;
  if (start == 0) return true;
  const double all = std::accumulate(samples.begin(), samples.end(), 0.0);
  const double rest =
      std::accumulate(samples.begin() + static_cast<std::ptrdiff_t>(start), samples.end(), 0.0);
  const auto rest_ns = static_cast<int64_t>(static_cast<double>(elapsed_ns) * rest / all);
  analyze::StopDecider decider(rule);
  return decider.Decide(samples_ns.subspan(start), rest_ns) != analyze::StopReason::kContinue;
}

Result<void> Worker::Measure(RunLoop* loop) {
  INFERPROBE_RETURN_IF_ERROR(SendPhase("warm up", 0, plan_.options.warmup, 0));
  if (auto first = loop->Run(RunMode::kFirst); !first) return tl::unexpected(first.error());
  auto outputs = CheckOutputs(engine_, plan_.options, cases_, regions_);
  if (!outputs) return tl::unexpected(outputs.error());
  outputs_ = std::move(*outputs);
  // Long models must not spend minutes on a default that was meant for short ones: warm-up ends
  // after the time that the whole measurement may take, too.
  const RunLoop::Limits warm_up = {plan_.options.warmup, 10'000'000'000, 1};
  if (plan_.options.warmup > 0) {
    if (auto runs = loop->Runs(RunMode::kWarmup, warm_up, {}); !runs) {
      return tl::unexpected(runs.error());
    }
  }

  RunLoop::Limits limits;
  analyze::StopRule rule;
  rule.iterations = plan_.options.iterations;
  rule.duration_s = plan_.options.duration_s;
  if (rule.iterations) limits.runs = *rule.iterations;
  limits.at_least = rule.fewest;
  if (rule.duration_s) limits.ns = static_cast<int64_t>(*rule.duration_s * 1e9);
  analyze::StopDecider decider(rule);
  const auto stop = [&](const std::vector<int64_t>& samples, int64_t elapsed_ns) {
    (void)SendPhase("latency", samples.size(), limits.runs == UINT64_MAX ? 0 : limits.runs,
                    static_cast<double>(elapsed_ns) / 1e9);
    const analyze::StopReason reason = decider.Decide(samples, elapsed_ns);
    if (reason != analyze::StopReason::kPrecise) return reason != analyze::StopReason::kContinue;
    // A slow start will be cut off: what remains must be enough.
    return EnoughRemains(rule, samples, elapsed_ns);
  };
  auto samples = loop->Runs(RunMode::kLatency, limits, stop);
  if (!samples) return tl::unexpected(samples.error());
  if (plan_.options.latency_only) return {};
  const int64_t latency_ns = loop->elapsed_ns();

  const RunLoop::Limits profiled_warm_up = {kProfiledWarmUps, INT64_MAX, 1};
  if (auto runs = loop->Runs(RunMode::kWarmupOn, profiled_warm_up, {}); !runs) {
    return tl::unexpected(runs.error());
  }
  RunLoop::Limits triples;
  triples.runs = samples->size();
  triples.at_least = 3;
  if (!rule.iterations) triples.ns = std::min(latency_ns, kProfileBudgetNs);
  INFERPROBE_RETURN_IF_ERROR(SendPhase("profile", 0, triples.runs, 0));
  auto done = loop->Triples(plan_.options.seed.value_or(0) + plan_.process, triples);
  if (!done) return tl::unexpected(done.error());
  return {};
}

// What was recorded before a failure is handed over, too.
Result<void> Worker::MeasureAndDrain(RunLoop* loop) {
  auto measured = Measure(loop);
  auto drained = loop->Drain();
  return measured ? drained : measured;
}

Result<void> Worker::Perf() {
  RecorderOptions recording;
  recording.shared_fd = kWorkerRingsFd;
  recording.events_per_thread = plan_.options.ring_events;
  recording.run_id = plan_.options.run_id;
  recording.process_name = "inferprobe worker";
  auto recorder = Recorder::Start(recording);
  if (!recorder) return tl::unexpected(recorder.error());
  ring_ = record::AttachThread();
  if (ring_ == nullptr) return MakeError(ErrorCode::kInternal, "the recorder has no ring");

  INFERPROBE_RETURN_IF_ERROR(SendPhase("load", 0, 0, 0));
  INFERPROBE_RETURN_IF_ERROR(Load());
  INFERPROBE_RETURN_IF_ERROR(ChooseInputs());
  const record::ProbeCosts& costs = record::CalibratedCosts();
  LoadedMessage loaded;
  loaded.model = model_;
  loaded.engine = engine_->engine();
  loaded.clock.source = Clock().tsc ? "tsc" : "clock_gettime";
  loaded.clock.tick_ns = costs.tick_ns;
  loaded.clock.read_cost_ps = static_cast<int64_t>(costs.clock_read_ns * 1000);
  loaded.clock.realtime_minus_monotonic_ns = Clock().realtime_minus_monotonic_ns;
  loaded.clock.boottime_minus_monotonic_ns = Clock().boottime_minus_monotonic_ns;
  loaded.event_cost_ns = costs.event_ns;
  if (plan_.options.regions.empty()) {
    loaded.region_sources = {profile::Status::kNotRequested, "--regions looks at them"};
  } else {
    loaded.region_sources = engine_->region_sources();
  }
  std::optional<RegionsHook> regions;
  if (loaded.region_sources) {
    auto detail = ParseRegionDetail(plan_.options.regions);
    if (!detail) return tl::unexpected(detail.error());
    const profile::Metric<int64_t>& threads = loaded.engine.threads;
    regions.emplace(*detail, threads ? *threads : plan_.options.threads, ring_);
  }
  INFERPROBE_RETURN_IF_ERROR(Send(loaded));

  DisturbanceLedger ledger(!plan_.options.regions.empty());
  BlockMeter block;
  RunLoop::Callbacks callbacks;
  callbacks.drain = [this] { return DrainRings(); };
  callbacks.block_begin = [&] {
    block.Begin();
    ledger.BeginBlock();
  };
  callbacks.block_end = [&]() -> Result<void> {
    profile::BlockReading reading = block.End();
    ledger.EndBlock(&reading);
    reading.process = plan_.process;
    return Send(BlockMessage{std::move(reading)});
  };
  callbacks.run_cost = [&] { return ledger.last_run(); };
  std::vector<RunHook*> hooks = {&ledger};
  if (regions) hooks.push_back(&*regions);  // behind the ledger: publishing is no cost of the run
  regions_ = regions ? &*regions : nullptr;
  DoneMessage done;
  {
    // Also when a run fails: what a hook collects may come only when the engine goes.
    const EngineRelease release([this] { session_.reset(); }, hooks);
    RunLoop loop(engine_, ring_, hooks, std::move(callbacks));
    INFERPROBE_RETURN_IF_ERROR(MeasureAndDrain(&loop));
    // The inputs are the chosen ones.
    done.model = engine_->model();
    done.model.inputs = model_.inputs;
    done.memory = engine_->memory();
    done.memory.peak_rss_bytes = PeakResidentBytes();
    done.outputs = outputs_;
    ClearLastDelegateError();
  }
  done.unwritten_sidecar = LastDelegateError();  // the engine is gone, and has written its files
  return Send(done);
}

}  // namespace

int RunWorker() {
  auto channel = base::MessageChannel::FromFd(kWorkerChannelFd);
  if (!channel) {
    std::fputs("inferprobe worker: started by `inferprobe perf`, of no use on its own\n", stderr);
    return 2;
  }
  Worker worker(std::move(*channel));
  if (auto served = worker.Serve(); !served) {
    worker.Report(served.error());
    return 1;
  }
  return 0;
}

}  // namespace inferprobe::measure
