#include "formats/result_json/sample_parts.h"

#include <string>
#include <utility>

#include "analyze/disturbances.h"
#include "analyze/latency.h"
#include "analyze/operators.h"
#include "analyze/perturbation.h"

namespace inferprobe::result_json::samples {

using analyze::SyntheticProfile;
using profile::Category;
using profile::PerfResult;
using profile::RunMode;
using profile::Status;

void ProfiledRun(SyntheticProfile& made, Jitter& jitter, uint32_t group) {
  made.BeginRun(RunMode::kPairOn, group);
  made.Leaf(Category::kSetInputs, "set_inputs", 900 + jitter.UpTo(100));
  made.Wait(1200);
  made.Enter(Category::kMethod, "Method::execute");
  made.Wait(1500 + jitter.UpTo(300));
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Wait(183'000 + jitter.UpTo(9000));
  for (int i = 0; i < 6; ++i) {
    made.Reported("Convolution (NHWC, F32) IGEMM", 28'000 + 1000 * (i % 3) + jitter.UpTo(2) * 1000);
  }
  made.Reported("Global Average Pooling (NWC, F32) Mean", jitter.UpTo(10) == 0 ? 1000 : 0);
  made.Leave();
  made.Wait(400);
  for (const int32_t instruction : {1, 2}) {
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", instruction);
    made.Wait(150);
    made.Leaf(Category::kKernel,
              instruction == 1 ? "native_call_softmax.out" : "native_call_add.out",
              instruction == 1 ? 7800 + jitter.UpTo(200) : 45);
    made.Leave();
  }
  made.Wait(500);
  made.Leave();
  made.Wait(1000);
  made.EndRun();
}

PerfResult Facts() {
  PerfResult result;
  result.tool_version = "0.1.0";
  result.run_id = "0123456789abcdef0123456789abcdef";
  result.started_at = "2026-11-29T23:18:00Z";
  profile::ModelFacts& model = result.model;
  model.path = "samples/vision_xnnpack.pte";
  model.format = "executorch";
  model.method = "forward";
  model.methods = {"forward"};
  model.sha256 = std::string(64, 'a');
  model.bytes = 653'712;
  profile::InputFacts input;
  input.spec.shape = {1, 3, 128, 128};
  input.source = "seed 0";
  model.inputs = {input};
  TensorSpec output;
  output.shape = {1, 10};
  model.outputs = {output};
  model.instructions = 3;
  model.delegates = {
      {.id = 0, .backend = "XnnpackBackend", .blob_bytes = 640'000, .engine_id = "9f3c51d2-0"}};
  model.instruction_names = {"", "aten::_softmax.out", "aten::add.out"};
  result.engine = {.name = "executorch",
                   .title = "ExecuTorch",
                   .version = "1.5.1",
                   .backends = {"XnnpackBackend", "OpenvinoBackend"},
                   .threads = 2};
  profile::EnvironmentFacts& machine = result.environment;
  machine.os = "Debian GNU/Linux 12";
  machine.kernel = "6.1.0";
  machine.cpu = "AMD EPYC 9B45";
  machine.cpus = 2;
  machine.cpus_online = 2;
  machine.governor = {Status::kUnsupported, "no cpufreq in sysfs"};
  machine.load_average = 0.6;
  machine.memory_bytes = int64_t{8} << 30;
  result.clock.source = "tsc";
  result.clock.tick_ns = 0.4;
  result.clock.read_cost_ps = 9100;
  result.settings.iterations = 412;
  result.settings.duration_s = {Status::kNotRequested, ""};
  result.settings.threads = {Status::kNotRequested, "the engine's default"};
  result.settings.warmup = 10;
  result.settings.level = "delegate";
  result.settings.method = "forward";
  profile::MemoryFacts& memory = result.memory;
  memory.planned_bytes = 393'216;
  memory.planned_buffers = {393'216};
  memory.method_allocations = 1651;
  memory.method_bytes = 182'400;
  memory.run_allocations = 0;
  memory.run_bytes = 0;
  memory.peak_rss_bytes = 31'457'280;
  return result;
}

void Analyze(const SyntheticProfile& made, PerfResult& result) {
  analyze::LatencyAnalysis latency =
      analyze::AnalyzeLatency(made.profile, {.warmup_requested = result.settings.warmup});
  result.disturbances = analyze::FindDisturbances(made.profile, latency, {});
  result.latency = std::move(latency.latency);
  result.warmup = std::move(latency.warmup);
  result.first_run_ms = latency.first_run_ms;
  result.perturbation = analyze::AnalyzePerturbation(made.profile);
  analyze::OperatorTable table =
      analyze::BuildOperators(made.profile, result.model, {.event_cost_ns = 45});
  result.ops = std::move(table.ops);
  result.delegates = std::move(table.delegates);
  result.delegate_summary = table.delegate_summary;
  result.unattributed_ns = table.unattributed_ns;
  result.profiled_runs = table.runs;
  result.profiled_mean_ns = table.mean_ns;
  result.losses.Merge(table.losses);
}

}  // namespace inferprobe::result_json::samples
