// One backend id with two backends behind it: a load-time option says which of them a method gets.
// For comparing them in one process, with the same program.
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <functional>
#include <string>
#include <utility>

namespace inferprobe::executorch_engine {

class BackendChoice final : public ::executorch::runtime::BackendInterface {
 public:
  using Backend = ::executorch::runtime::BackendInterface;
  // Option `key`: "ours" or "stock"; `stock` may be nullptr. `before_stock` is called each time
  // that the stock one is about to be used.
  BackendChoice(std::string key, const Backend* ours, const Backend* stock,
                std::function<void()> before_stock)
      : key_(std::move(key)), ours_(ours), stock_(stock), before_stock_(std::move(before_stock)) {}
  ~BackendChoice() override;

  // Whatever is missing is a load's error, which says what to do.
  [[nodiscard]] bool is_available() const override { return true; }
  ::executorch::runtime::Result<::executorch::runtime::DelegateHandle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* processed,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) const override;
  ::executorch::runtime::Error execute(
      ::executorch::runtime::BackendExecutionContext& context,
      ::executorch::runtime::DelegateHandle* handle,
      ::executorch::runtime::Span<::executorch::runtime::EValue*> args) const override;
  void destroy(::executorch::runtime::DelegateHandle* handle) const override;

 private:
  std::string key_;
  const Backend* ours_;
  const Backend* stock_;
  std::function<void()> before_stock_;
};

}  // namespace inferprobe::executorch_engine
