// A backend that knows nothing of us, watched from outside: each call and each load of it is an
// event, `<id in lower case>.delegate` and `.delegate_load`, whatever backend it is.
//
// The rule that people break: nothing of the backend's own changes. It is given the contexts that
// ExecuTorch made, without our keys among its options, and at level off without the tracer.
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <string>
#include <string_view>

namespace inferprobe::executorch_engine {

// The prefix of events and keys of a backend that is watched from outside: its id in lower case.
std::string EventPrefixOf(std::string_view id);

class WrappedBackend final : public ::executorch::runtime::BackendInterface {
 public:
  // `inner` outlives this.
  WrappedBackend(std::string id, ::executorch::runtime::BackendInterface* inner);
  ~WrappedBackend() override;

  [[nodiscard]] const std::string& id() const { return id_; }

  [[nodiscard]] bool is_available() const override { return inner_->is_available(); }
  ::executorch::runtime::Result<::executorch::runtime::DelegateHandle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* processed,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) const override;
  ::executorch::runtime::Error execute(
      ::executorch::runtime::BackendExecutionContext& context,
      ::executorch::runtime::DelegateHandle* handle,
      ::executorch::runtime::Span<::executorch::runtime::EValue*> args) const override;
  ::executorch::runtime::Error set_option(
      ::executorch::runtime::BackendOptionContext& context,
      const ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override {
    return inner_->set_option(context, options);
  }
  ::executorch::runtime::Error get_option(
      ::executorch::runtime::BackendOptionContext& context,
      ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override {
    return inner_->get_option(context, options);
  }
  void destroy(::executorch::runtime::DelegateHandle* handle) const override;

 private:
  std::string id_;
  std::string prefix_;
  ::executorch::runtime::BackendInterface* inner_;
};

}  // namespace inferprobe::executorch_engine
