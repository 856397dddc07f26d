#include "formats/result_json/result_json.h"

#include <fmt/format.h>

#include "formats/result_json/figure_writer.h"

namespace inferprobe::result_json {
namespace {

using profile::kNone;
using profile::OpRow;
using profile::PerfResult;
using profile::RowType;
using profile::Status;

class ResultWriter {
 public:
  explicit ResultWriter(const PerfResult& result) : result_(result), out_(json_) {}

  std::string Write() && {
    json_.BeginObject();
    out_.Int(field::kSchemaVersion, kResultSchemaVersion);
    Tool();
    Model();
    Engine();
    Environment();
    Settings();
    WarmUp();
    out_.Figure(field::kLoadMs, result_.load_ms);
    out_.Figure(field::kFirstRunMs, result_.first_run_ms);
    Latency();
    out_.Figure(field::kRateSingleStreamPerS, result_.latency.rate_single_stream_per_s);
    Perturbation();
    Disturbances();
    Memory();
    Ops();
    out_.Status(field::kModules, Status::kNotBuiltIn, "this version does not measure modules");
    Delegates();
    out_.Status(field::kRegions, Status::kNotBuiltIn, "this version does not record regions");
    out_.Status(field::kCounters, Status::kNotBuiltIn, "this version does not read counters");
    Outputs();
    Processes();
    Statistics();
    json_.EndObject();
    return std::move(json_).Take();
  }

 private:
  void Object(std::string_view key) { json_.Key(key).BeginObject(); }
  void End() { json_.EndObject(); }

  void Texts(std::string_view key, const std::vector<std::string>& values) {
    json_.Key(key).BeginArray(true);
    for (const std::string& value : values) json_.String(value);
    json_.EndArray();
  }

  void SampleLists(std::string_view key, const std::vector<std::vector<double>>& lists) {
    json_.Key(key).BeginArray();
    for (const std::vector<double>& list : lists) {
      json_.BeginArray(true);
      for (const double sample : list) json_.Number(sample);
      json_.EndArray();
    }
    json_.EndArray();
  }

  void Tool() {
    Object(field::kTool);
    out_.Text(field::kName, "inferprobe");
    out_.Text(field::kVersion, result_.tool_version);
    out_.Text(field::kRunId, result_.run_id);
    out_.Text(field::kStartedAt, result_.started_at);
    End();
  }

  void Tensor(const TensorSpec& spec, size_t index, const std::string* source) {
    json_.BeginObject();
    out_.Text(field::kName, spec.name.empty() ? std::to_string(index) : spec.name);
    out_.Text(field::kType, ScalarTypeName(spec.type));
    json_.Key(field::kShape).BeginArray(true);
    for (const int64_t size : spec.shape) json_.Int(size);
    json_.EndArray();
    out_.Bool(field::kDynamic, spec.dynamic);
    out_.Bool(field::kScalar, spec.is_scalar);
    if (source != nullptr) out_.Text(field::kSource, *source);
    json_.EndObject();
  }

  void Model() {
    const profile::ModelFacts& model = result_.model;
    Object(field::kModel);
    out_.Text(field::kPath, model.path);
    out_.Text(field::kSha256, model.sha256);
    out_.Text(field::kFormat, model.format);
    out_.Text(field::kMethod, model.method);
    Texts(field::kMethods, model.methods);
    out_.Uint(field::kBytes, model.bytes);
    out_.Figure(field::kInstructions, model.instructions);
    json_.Key(field::kInputs).BeginArray();
    for (size_t i = 0; i < model.inputs.size(); ++i) {
      Tensor(model.inputs[i].spec, i, &model.inputs[i].source);
    }
    json_.EndArray();
    json_.Key(field::kOutputs).BeginArray();
    for (size_t i = 0; i < model.outputs.size(); ++i) Tensor(model.outputs[i], i, nullptr);
    json_.EndArray();
    json_.Key(field::kDelegates).BeginArray();
    for (const profile::DelegateFacts& delegate : model.delegates) {
      json_.BeginObject();
      out_.Uint(field::kId, delegate.id);
      out_.Text(field::kBackend, delegate.backend);
      out_.Uint(field::kBlobBytes, delegate.blob_bytes);
      out_.Text(field::kEngineId, delegate.engine_id);
      json_.EndObject();
    }
    json_.EndArray();
    End();
  }

  void Engine() {
    const profile::EngineFacts& engine = result_.engine;
    Object(field::kEngine);
    out_.Text(field::kName, engine.name);
    out_.Text(field::kTitle, engine.title);
    out_.Text(field::kVersion, engine.version);
    out_.Figure(field::kThreads, engine.threads);
    Texts(field::kBackends, engine.backends);
    End();
  }

  void Environment() {
    const profile::EnvironmentFacts& machine = result_.environment;
    Object(field::kEnvironment);
    out_.Text(field::kOs, machine.os);
    out_.Text(field::kKernel, machine.kernel);
    out_.Text(field::kCpu, machine.cpu);
    out_.Int(field::kCpus, machine.cpus);
    out_.Int(field::kCpusOnline, machine.cpus_online);
    Object(field::kClock);
    out_.Text(field::kSource, result_.clock.source);
    out_.Number(field::kTickNs, result_.clock.tick_ns);
    out_.Number(field::kReadCostNs, static_cast<double>(result_.clock.read_cost_ps) / 1000);
    End();
    out_.Figure(field::kGovernor, machine.governor);
    out_.Figure(field::kLoadAverage, machine.load_average);
    out_.Figure(field::kMemoryBytes, machine.memory_bytes);
    End();
  }

  void Settings() {
    const profile::Settings& settings = result_.settings;
    Object(field::kSettings);
    out_.Figure(field::kIterations, settings.iterations);
    out_.Figure(field::kDurationS, settings.duration_s);
    out_.Uint(field::kWarmup, settings.warmup);
    out_.Uint(field::kProcesses, settings.processes);
    out_.Figure(field::kThreads, settings.threads);
    out_.Uint(field::kSeed, settings.seed);
    out_.Text(field::kLevel, settings.level);
    out_.Text(field::kMethod, settings.method);
    End();
  }

  void WarmUp() {
    const profile::WarmUp& warmup = result_.warmup;
    Object(field::kWarmup);
    out_.Uint(field::kRequested, warmup.requested);
    out_.Uint(field::kExcluded, warmup.excluded);
    out_.Text(field::kRule, warmup.rule.empty() ? "count" : warmup.rule);
    out_.Figure(field::kSteady, warmup.steady);
    out_.Figure(field::kSteadyAfter, warmup.steady_after);
    SampleLists(field::kSamples, warmup.samples_ms);
    End();
  }

  [[nodiscard]] const profile::Percentile* Find(double p) const {
    for (const profile::Percentile& percentile : result_.latency.percentiles) {
      if (percentile.p == p) return &percentile;
    }
    return nullptr;
  }

  void Latency() {
    const profile::Latency& latency = result_.latency;
    struct Named {
      std::string_view key;
      const profile::Percentile* percentile;
    };
    const Named percentiles[] = {{field::kP50, Find(0.5)},
                                 {field::kP90, Find(0.9)},
                                 {field::kP95, Find(0.95)},
                                 {field::kP99, Find(0.99)},
                                 {field::kP999, Find(0.999)}};
    Object(field::kLatencyMs);
    out_.Text(field::kKind, profile::KindName(profile::Kind::kHostWall));
    out_.Text(field::kProfiling, "off");
    out_.Uint(field::kCount, latency.count);
    out_.Figure(field::kAvg, latency.avg);
    out_.Figure(field::kStd, latency.std);
    out_.Figure(field::kMin, latency.min);
    out_.Figure(field::kMax, latency.max);
    for (const auto& [key, percentile] : percentiles) {
      out_.Figure(key, percentile != nullptr ? percentile->value : profile::Metric<double>());
    }
    Object(field::kIntervals);
    out_.Figure(field::kAvg, latency.avg_interval);
    for (const auto& [key, percentile] : percentiles) {
      out_.Figure(
          key, percentile != nullptr ? percentile->interval : profile::Metric<profile::Interval>());
    }
    End();
    SampleLists(field::kSamples, latency.samples_ms);
    End();
  }

  void Perturbation() {
    const profile::Perturbation& perturbation = result_.perturbation;
    Object(field::kPerturbation);
    out_.Text(field::kKind, profile::KindName(profile::Kind::kDerived));
    out_.Uint(field::kPairs, perturbation.pairs);
    out_.Figure(field::kProfiledP50Ms, perturbation.profiled_p50_ms);
    out_.Figure(field::kUnprofiledP50Ms, perturbation.unprofiled_p50_ms);
    out_.Figure(field::kRatio, perturbation.ratio);
    out_.Figure(field::kInterval, perturbation.interval);
    out_.Figure(field::kNullRatio, perturbation.null_ratio);
    out_.Figure(field::kNullRatioInterval, perturbation.null_interval);
    End();
  }

  void Disturbances() {
    json_.Key(field::kDisturbances).BeginArray();
    for (const profile::Disturbance& item : result_.disturbances) {
      json_.BeginObject();
      out_.Text(field::kKind, item.kind);
      out_.Text(field::kText, item.text);
      out_.Uint(field::kProcess, item.process);
      json_.Key(field::kRuns).BeginArray(true);
      for (const uint32_t run : item.runs) json_.Uint(run);
      json_.EndArray();
      if (item.ns) out_.Int(field::kNs, *item.ns);
      if (item.value) {
        out_.Number(field::kValue, *item.value);
        out_.Text(field::kUnit, item.unit);
      }
      out_.Bool(field::kWarning, item.warning);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Memory() {
    const profile::MemoryFacts& memory = result_.memory;
    Object(field::kMemory);
    out_.Figure(field::kPlannedBytes, memory.planned_bytes);
    json_.Key(field::kPlannedBuffers).BeginArray(true);
    for (const int64_t bytes : memory.planned_buffers) json_.Int(bytes);
    json_.EndArray();
    out_.Figure(field::kMethodAllocations, memory.method_allocations);
    out_.Figure(field::kMethodBytes, memory.method_bytes);
    out_.Figure(field::kRunAllocations, memory.run_allocations);
    out_.Figure(field::kRunBytes, memory.run_bytes);
    out_.Figure(field::kPeakRssBytes, memory.peak_rss_bytes);
    End();
  }

  void Row(const OpRow& row) {
    json_.BeginObject();
    out_.Uint(field::kId, row.id);
    if (row.parent != kNone) out_.Uint(field::kParent, row.parent);
    out_.Text(field::kType, profile::RowTypeName(row.type));
    out_.Text(field::kKind, profile::KindName(row.kind));
    out_.Text(field::kName, row.name);
    out_.Figure(field::kInstruction, row.instruction);
    out_.Uint(field::kCalls, row.calls);
    out_.Number(field::kCallsPerRun, row.calls_per_run);
    out_.Int(field::kTotalNs, row.total_ns);
    out_.Int(field::kSelfNs, row.self_ns);
    out_.Figure(field::kMeanNs, row.mean_ns);
    out_.Figure(field::kP50Ns, row.p50_ns);
    out_.Number(field::kShare, row.share);
    out_.Figure(field::kProbeCostNs, row.probe_cost_ns);
    out_.Figure(field::kDelegate, row.delegate);
    out_.Figure(field::kModulePath, row.module_path);
    json_.EndObject();
  }

  void Ops() {
    out_.Uint(field::kProfiledRuns, result_.profiled_runs);
    if (result_.profiled_runs != 0) {
      out_.Number(field::kProfiledMeanNs, result_.profiled_mean_ns);
    } else {
      out_.Status(field::kProfiledMeanNs, Status::kNotMeasured, "no profiled run");
    }
    // What an engine reported stands under its delegate call, not among host-wall rows.
    json_.Key(field::kOps).BeginArray();
    for (const OpRow& row : result_.ops) {
      if (row.type != RowType::kDelegateOp) Row(row);
    }
    json_.EndArray();
    out_.Figure(field::kUnattributedNs, result_.unattributed_ns);
  }

  void Delegates() {
    json_.Key(field::kDelegates).BeginArray();
    for (const profile::DelegateResult& delegate : result_.delegates) {
      json_.BeginObject();
      out_.Uint(field::kId, delegate.id);
      out_.Uint(field::kOp, delegate.op);
      out_.Text(field::kBackend, delegate.backend);
      out_.Text(field::kEngineId, delegate.engine_id);
      out_.Number(field::kCallsPerRun, delegate.calls_per_run);
      out_.Number(field::kHostNs, delegate.host_ns);
      out_.Status(field::kPhases, Status::kNotBuiltIn, "this version does not record phases");
      json_.Key(field::kLayers).BeginArray();
      for (const OpRow& row : delegate.layers) Row(row);
      json_.EndArray();
      out_.Figure(field::kLayerCoverage, delegate.layer_coverage);
      out_.Figure(field::kResolutionNs, delegate.resolution_ns);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Outputs() {
    const profile::OutputCheck& outputs = result_.outputs;
    const auto verdict_name = [&] {
      switch (outputs.verdict) {
        case profile::OutputCheck::Verdict::kUnchecked:
          return "unchecked";
        case profile::OutputCheck::Verdict::kMatch:
          return "match";
        case profile::OutputCheck::Verdict::kMismatch:
          return "mismatch";
      }
      return "unchecked";
    };
    Object(field::kOutputs);
    out_.Text(field::kVerdict, verdict_name());
    out_.Text(field::kText, outputs.text);
    out_.Figure(field::kMaxAbsError, outputs.max_abs_error);
    out_.Figure(field::kProfiledEqual, outputs.profiled_equal);
    out_.Figure(field::kRepeatable, outputs.repeatable);
    Texts(field::kSha256, outputs.sha256);
    End();
  }

  void Processes() {
    json_.Key(field::kProcesses).BeginArray();
    for (const profile::ProcessResult& process : result_.processes) {
      json_.BeginObject();
      out_.Uint(field::kIndex, process.index);
      out_.Int(field::kPid, process.pid);
      out_.Figure(field::kLoadMs, process.load_ms);
      out_.Figure(field::kFirstRunMs, process.first_run_ms);
      out_.Uint(field::kLatencyRuns, process.latency_runs);
      out_.Uint(field::kProfiledRuns, process.profiled_runs);
      if (!process.failure.empty()) out_.Text(field::kFailure, process.failure);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Statistics() {
    json_.Key(field::kStatistics).BeginArray();
    for (size_t i = 0; i < static_cast<size_t>(profile::Loss::kCount); ++i) {
      const auto loss = static_cast<profile::Loss>(i);
      const profile::LossInfo& info = profile::InfoOf(loss);
      json_.BeginObject();
      out_.Text(field::kName, info.name);
      out_.Uint(field::kValue, result_.losses.Get(loss));
      out_.Text(field::kSeverity, profile::SeverityName(info.severity));
      out_.Text(field::kBlame, profile::BlameName(info.blame));
      out_.Text(field::kAdvice, info.advice);
      json_.EndObject();
    }
    json_.EndArray();
  }

  const PerfResult& result_;
  base::JsonWriter json_;
  FigureWriter out_;
};

}  // namespace

std::string WriteResultJson(const PerfResult& result) { return ResultWriter(result).Write(); }

}  // namespace inferprobe::result_json
