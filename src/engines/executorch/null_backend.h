// A backend with nothing behind it: what is left of a call is what is around it, in tests and
// benchmarks.
#pragma once

#include <executorch/runtime/backend/interface.h>

namespace inferprobe::executorch_engine {

class NullBackend final : public ::executorch::runtime::BackendInterface {
 public:
  using Handle = ::executorch::runtime::DelegateHandle;
  using Error = ::executorch::runtime::Error;

  explicit NullBackend(Error says = Error::Ok) : of_init(says) {}
  ~NullBackend() override = default;
  [[nodiscard]] bool is_available() const override { return true; }
  ::executorch::runtime::Result<Handle*> init(
      ::executorch::runtime::BackendInitContext& /*context*/,
      ::executorch::runtime::FreeableBuffer* /*processed*/,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> /*specs*/)
      const override {
    if (of_init != Error::Ok) return of_init;
    return static_cast<Handle*>(nullptr);
  }
  Error execute(
      ::executorch::runtime::BackendExecutionContext& /*context*/, Handle* /*handle*/,
      ::executorch::runtime::Span<::executorch::runtime::EValue*> /*args*/) const override {
    return Error::Ok;
  }

  Error of_init;  // what the next init() says
};

}  // namespace inferprobe::executorch_engine
