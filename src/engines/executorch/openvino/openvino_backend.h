// ExecuTorch's OpenvinoBackend, ours: it runs what the OpenVINO partitioner of ExecuTorch wrote,
// with the same outputs as ExecuTorch's own delegate, and shows its inside (inferprobe/delegate.h).
//
// Events: openvino.delegate; phases .input_binding, .output_binding and .infer_host, or with the
// option openvino_async=1 .enqueue_host and .synchronize. OpenVINO on a CPU has no staging and no
// shape inference of its own.
//
// The rule that people break: ExecuTorch keeps the first backend of a name. This one is registered
// before libexecutorch_backend_openvino.so is loaded, whose own attempt is then refused silently.
#pragma once

#include <executorch/runtime/backend/interface.h>

namespace inferprobe::openvino {

constexpr const char* kBackendId = "OpenvinoBackend";
constexpr const char* kPrefix = "openvino";

class OpenvinoBackend final : public ::executorch::runtime::BackendInterface {
 public:
  ~OpenvinoBackend() override;
  [[nodiscard]] bool is_available() const override;
  ::executorch::runtime::Result<::executorch::runtime::DelegateHandle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* processed,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) const override;
  ::executorch::runtime::Error execute(
      ::executorch::runtime::BackendExecutionContext& context,
      ::executorch::runtime::DelegateHandle* handle,
      ::executorch::runtime::Span<::executorch::runtime::EValue*> args) const override;
  void destroy(::executorch::runtime::DelegateHandle* handle) const override;
};

// The one of this process; never destroyed.
OpenvinoBackend* TheOpenvinoBackend();

}  // namespace inferprobe::openvino
