#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "formats/result_json/sample_parts.h"

namespace inferprobe::result_json::samples {

using analyze::SyntheticProfile;
using profile::Category;
using profile::PerfResult;
using profile::RunMode;

namespace {

constexpr const char* kLayer = R"({"kind":"engine_reported"})";
constexpr const char* kMeanLayer = R"({"kind":"engine_reported","of":"running_mean"})";

// An unmodified delegate that is wrapped: its reports are those it always made.
void WrappedCall(SyntheticProfile& made, Jitter& jitter) {
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Wait(300);
  made.EnterNoted("xnnpackbackend.delegate");
  made.Wait(61'000 + jitter.UpTo(900));
  made.Reported("Convolution (NHWC, F32) IGEMM", 40'000 + jitter.UpTo(1) * 1000);
  made.Reported("Convolution (NHWC, F32) IGEMM", 20'000);
  made.Leave();
  made.Leave();
}

// All levels, of an engine that keeps running means.
void LayeredCall(SyntheticProfile& made, Jitter& jitter, int call) {
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 1);
  made.EnterNoted("openvino.delegate", R"({"kind":"host_wall","mode":"blocking"})");
  made.Wait(900);
  made.NotedLeaf("openvino.input_binding", 2100 + jitter.UpTo(100));
  made.NotedLeaf("openvino.output_binding", 1400);
  made.NotedLeaf("openvino.infer_host", 115'000 + jitter.UpTo(3000));
  made.Leave();
  made.NotedLeaf("openvino.layer_report", 8000,
                 fmt::format(R"({{"kind":"host_wall","calls":{},"unit_ns":1000}})", call));
  for (const int64_t us : {70, 40, 2}) {
    made.ReportedNoted(fmt::format("layer of {} us", us), us * 1000, kMeanLayer);
  }
  made.Leave();
}

// A device that answers later; the last call's answer never comes.
void DeviceCall(SyntheticProfile& made, Jitter& jitter, int call, bool last) {
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 2);
  const bool waits = call % 5 == 0;
  made.EnterNoted(
      "torchtrt.delegate",
      fmt::format(R"({{"kind":"host_wall","mode":"{}","engine":"0a1b","call":{}{}}})",
                  waits ? "synchronized" : "asynchronous", call,
                  last ? R"(,"device_missing":"all pairs of device events were in flight")" : ""));
  made.NotedLeaf("torchtrt.enqueue_host", 9000 + jitter.UpTo(400));
  if (waits) made.NotedLeaf("torchtrt.synchronize", 80'000);
  made.Leave();
  made.ReportedNoted("conv + relu", 84'123, kLayer);
  made.Leave();
  if (last) return;
  made.OnDevice(
      "torchtrt.device", 90'000 + jitter.UpTo(1000),
      fmt::format(R"({{"kind":"device","clock":"cuda event","engine":"0a1b","call":{}}})", call));
}

}  // namespace

PerfResult Delegates() {
  PerfResult result = Facts();
  result.model.path = "samples/mixed.pte";
  result.model.instructions = 4;
  result.model.delegates = {
      {.id = 0, .backend = "XnnpackBackend", .blob_bytes = 1000, .engine_id = "9f3c51d2-0"},
      {.id = 1, .backend = "OpenvinoBackend", .blob_bytes = 2000, .engine_id = "51d29f3c-0"},
      {.id = 2, .backend = "TensorRTBackend", .blob_bytes = 3000, .engine_id = "0a1b"}};
  result.model.instruction_names = {"", "", "", "aten::add.out"};
  result.model.instruction_delegates = {0, 1, 2, -1};
  SyntheticProfile made;
  made.profile.clock.tick_ns = 0.4;
  Jitter jitter;
  constexpr int kRuns = 20;
  for (int run = 1; run <= kRuns; ++run) {
    made.BeginRun(RunMode::kPairOn, static_cast<uint32_t>(run));
    made.Leaf(Category::kSetInputs, "set_inputs", 900);
    made.Enter(Category::kMethod, "Method::execute");
    made.Wait(1500);
    WrappedCall(made, jitter);
    LayeredCall(made, jitter, 40 + run);
    DeviceCall(made, jitter, run, run == kRuns);
    made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 7000, 3);
    made.Leave();
    made.Wait(1100);
    made.EndRun();
  }
  Analyze(made, result);
  return result;
}

}  // namespace inferprobe::result_json::samples
