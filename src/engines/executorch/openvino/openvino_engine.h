// One OpenVINO engine: a compiled model, imported from a delegate's data, its infer request, and
// what the profiler asks of it.
//
// The rule that people break: whether OpenVINO measures its layers is decided when a model is
// imported. To attach or remove them the model is imported anew from the delegate's data, so that
// stays mapped as long as the engine lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engines/executorch/openvino/openvino_api.h"
#include "engines/executorch/openvino/running_mean.h"
#include "inferprobe/delegate.h"
#include "inferprobe/result.h"

namespace inferprobe::openvino {

// A tensor as it is handed over: memory of the caller's.
struct BoundTensor {
  ElementType type = ElementType::kDynamic;
  std::span<const int64_t> shape;
  void* data = nullptr;
};

class OpenvinoEngine final : public EngineHooks {
 public:
  struct Options {
    std::string device = "CPU";
    bool layers = false;  // import it with its layers measured
  };
  // `blob` outlives the engine.
  static Result<std::unique_ptr<OpenvinoEngine>> Load(const OpenvinoApi& api,
                                                      std::span<const std::byte> blob,
                                                      Options options);
  ~OpenvinoEngine() override;
  OpenvinoEngine(const OpenvinoEngine&) = delete;
  OpenvinoEngine& operator=(const OpenvinoEngine&) = delete;

  [[nodiscard]] size_t inputs() const { return inputs_; }
  [[nodiscard]] size_t outputs() const { return outputs_; }

  Result<void> BindInput(size_t index, const BoundTensor& tensor);
  Result<void> BindOutput(size_t index, const BoundTensor& tensor);
  Result<void> Infer();
  Result<void> StartAsync();
  Result<void> Wait();
  // Precondition: call.wants_layers(), and an inference has ended.
  void ReportLayers(DelegateCall& call);

  Result<void> AttachLayers() override;
  void DetachLayers() override;

 private:
  OpenvinoEngine(const OpenvinoApi& api, std::span<const std::byte> blob, Options options)
      : api_(api), blob_(blob), options_(std::move(options)) {}
  Result<void> Import(bool layers);
  void Release();
  [[nodiscard]] tl::unexpected<Error> Fail(const char* doing, Status status) const;
  Result<void> Bind(bool input, size_t index, const BoundTensor& tensor);

  const OpenvinoApi& api_;
  std::span<const std::byte> blob_;
  Options options_;
  CompiledModel* model_ = nullptr;
  InferRequest* request_ = nullptr;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  bool measures_layers_ = false;
  uint64_t calls_ = 0;  // since it was imported
  RunningMean mean_;
  bool described_ = false;
  uint64_t described_restarts_ = 0;
  std::vector<int64_t> times_ns_;
};

}  // namespace inferprobe::openvino
