#include "engines/executorch/openvino/openvino_engine.h"

#include <utility>

namespace inferprobe::openvino {

tl::unexpected<Error> OpenvinoEngine::Fail(const char* doing, Status status) const {
  std::string why;
  if (const char* said = api_.get_last_err_msg(); said != nullptr) {
    why = said;
    api_.free_text(said);
  }
  if (why.empty()) {
    const char* info = api_.get_error_info(status);
    why = info != nullptr ? info : "status " + std::to_string(status);
  }
  return MakeError(ErrorCode::kEngine,
                   std::string("OpenVINO ") + api_.version + ": " + doing + ": " + why);
}

Result<std::unique_ptr<OpenvinoEngine>> OpenvinoEngine::Load(const OpenvinoApi& api,
                                                             std::span<const std::byte> blob,
                                                             Options options) {
  const bool layers = options.layers;
  std::unique_ptr<OpenvinoEngine> engine(new OpenvinoEngine(api, blob, std::move(options)));
  INFERPROBE_RETURN_IF_ERROR(engine->Import(layers));
  return engine;
}

OpenvinoEngine::~OpenvinoEngine() { Release(); }

void OpenvinoEngine::Release() {
  if (request_ != nullptr) api_.infer_request_free(std::exchange(request_, nullptr));
  if (model_ != nullptr) api_.compiled_model_free(std::exchange(model_, nullptr));
}

// What was there before stays when this fails.
Result<void> OpenvinoEngine::Import(bool layers) {
  Core* core = nullptr;
  if (const Status status = api_.core_create(&core); status != kOk) {
    return Fail("cannot start", status);
  }
  const std::unique_ptr<Core, void (*)(Core*)> core_owner(core, api_.core_free);
  const char* device = options_.device.c_str();
  if (layers) {
    if (const Status status = api_.core_set_property(core, device, "PERF_COUNT", "YES");
        status != kOk) {
      return Fail("cannot measure layers", status);
    }
  }
  CompiledModel* model = nullptr;
  Status status = api_.core_import_model(core, reinterpret_cast<const char*>(blob_.data()),
                                         blob_.size(), device, &model);
  if (status != kOk) {
    auto error = Fail("cannot import the delegate's data", status);
    error.value().hint =
        "it is tied to OpenVINO's version and to the CPU: export the program on "
        "the machine that runs it";
    return error;
  }
  std::unique_ptr<CompiledModel, void (*)(CompiledModel*)> model_owner(model,
                                                                       api_.compiled_model_free);
  InferRequest* request = nullptr;
  status = api_.compiled_model_create_infer_request(model, &request);
  if (status != kOk) return Fail("cannot make an infer request", status);
  std::unique_ptr<InferRequest, void (*)(InferRequest*)> request_owner(request,
                                                                       api_.infer_request_free);
  size_t inputs = 0;
  size_t outputs = 0;
  status = api_.compiled_model_inputs_size(model, &inputs);
  if (status == kOk) status = api_.compiled_model_outputs_size(model, &outputs);
  if (status != kOk) return Fail("cannot ask for inputs and outputs", status);
  Release();
  request_ = request_owner.release();
  model_ = model_owner.release();
  inputs_ = inputs;
  outputs_ = outputs;
  measures_layers_ = layers;
  calls_ = 0;
  mean_ = {};
  described_ = false;
  return {};
}

Result<void> OpenvinoEngine::AttachLayers() {
  if (measures_layers_) return {};
  return Import(true);
}

void OpenvinoEngine::DetachLayers() {
  if (measures_layers_) static_cast<void>(Import(false));
}

Result<void> OpenvinoEngine::Bind(bool input, size_t index, const BoundTensor& tensor) {
  Shape shape;
  Status status =
      api_.shape_create(static_cast<int64_t>(tensor.shape.size()), tensor.shape.data(), &shape);
  if (status != kOk) return Fail("cannot make a shape", status);
  Tensor* made = nullptr;
  status = api_.tensor_create_from_host_ptr(tensor.type, shape, tensor.data, &made);
  api_.shape_free(&shape);
  if (status != kOk) return Fail("cannot make a tensor", status);
  status = input ? api_.infer_request_set_input_tensor_by_index(request_, index, made)
                 : api_.infer_request_set_output_tensor_by_index(request_, index, made);
  api_.tensor_free(made);
  if (status != kOk) return Fail(input ? "cannot bind an input" : "cannot bind an output", status);
  return {};
}

Result<void> OpenvinoEngine::BindInput(size_t index, const BoundTensor& tensor) {
  return Bind(true, index, tensor);
}
Result<void> OpenvinoEngine::BindOutput(size_t index, const BoundTensor& tensor) {
  return Bind(false, index, tensor);
}

Result<void> OpenvinoEngine::Infer() {
  if (const Status status = api_.infer_request_infer(request_); status != kOk) {
    return Fail("the inference failed", status);
  }
  ++calls_;
  return {};
}

Result<void> OpenvinoEngine::StartAsync() {
  if (const Status status = api_.infer_request_start_async(request_); status != kOk) {
    return Fail("cannot start the inference", status);
  }
  ++calls_;
  return {};
}

Result<void> OpenvinoEngine::Wait() {
  if (const Status status = api_.infer_request_wait(request_); status != kOk) {
    return Fail("the inference failed", status);
  }
  return {};
}

void OpenvinoEngine::ReportLayers(DelegateCall& call) {
  call.BeginLayers();
  ProfilingInfoList list;
  if (api_.infer_request_get_profiling_info(request_, &list) != kOk) {
    call.ReportLayers({}, {calls_, kUnitNs});
    return;
  }
  const std::span<const ProfilingInfo> layers(list.profiling_infos, list.size);
  const std::span<const int64_t> read = mean_.Read(calls_, layers);
  if (!described_ || described_restarts_ != mean_.restarts()) {
    std::vector<LayerFacts> facts;
    facts.reserve(layers.size());
    const auto text = [](const char* from) {
      return std::string_view(from != nullptr ? from : "");
    };
    for (const ProfilingInfo& layer : layers) {
      facts.push_back({text(layer.node_name), text(layer.node_type), text(layer.exec_type)});
    }
    call.DescribeLayers(facts, LayerTimes::kOfRunningMean);
    times_ns_.resize(layers.size());
    described_ = true;
    described_restarts_ = mean_.restarts();
  }
  // Not run, or optimised out: no time of it is told, which is not a time of zero.
  for (size_t i = 0; i < read.size(); ++i) {
    const bool ran = layers[i].status == NodeStatus::kExecuted || read[i] > 0;
    times_ns_[i] = ran ? read[i] : -1;
  }
  api_.profiling_info_list_free(&list);
  call.ReportLayers(std::span(times_ns_).first(read.size()), {calls_, kUnitNs, mean_.covered()});
}

}  // namespace inferprobe::openvino
