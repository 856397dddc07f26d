#include "engines/executorch/backend_choice.h"

#include <memory>
#include <string_view>

#include "inferprobe/executorch_delegate.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
namespace kit = ::inferprobe::executorch_delegate;

struct Chosen {
  const et::BackendInterface* backend;
  et::DelegateHandle* handle;
};

}  // namespace

BackendChoice::~BackendChoice() = default;

et::Result<et::DelegateHandle*> BackendChoice::init(et::BackendInitContext& context,
                                                    et::FreeableBuffer* processed,
                                                    et::ArrayRef<et::CompileSpec> specs) const {
  const std::string choice = kit::internal::RuntimeText(context, key_).value_or("ours");
  if (choice != "ours" && choice != "stock") {
    return kit::Fail(
        {ErrorCode::kInvalidArgument, key_ + ": \"" + choice + "\" is not one of ours, stock", ""});
  }
  const Backend* backend = choice == "stock" ? stock_ : ours_;
  if (backend == nullptr) {
    return kit::Fail({ErrorCode::kNotBuiltIn, key_ + ": this build has no stock delegate",
                      "the executorch wheel that it was built with brings none"});
  }
  if (backend == stock_) before_stock_();
  // Ours says itself what it misses, and where it looked.
  if (backend == stock_ && !backend->is_available()) {
    return kit::Fail(
        {ErrorCode::kNotFound, key_ + ": the stock delegate says that its runtime is not there",
         "set OPENVINO_LIB_PATH to the file of OpenVINO's C library"},
        et::Error::NotFound);
  }
  // The stock delegate frees its data after init, and OpenVINO 2026.4 goes on reading weights from
  // there: with a mapped program the first run would crash. Its Free() is left without effect; the
  // data goes with the method.
  et::FreeableBuffer kept(processed->data(), processed->size(), /*free_fn=*/nullptr);
  auto handle = backend->init(context, backend == stock_ ? &kept : processed, specs);
  if (!handle.ok()) return handle.error();
  return new Chosen{backend, *handle};
}

et::Error BackendChoice::execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                                 et::Span<et::EValue*> args) const {
  const auto* chosen = static_cast<const Chosen*>(handle);
  return chosen->backend->execute(context, chosen->handle, args);
}

void BackendChoice::destroy(et::DelegateHandle* handle) const {
  const std::unique_ptr<Chosen> chosen(static_cast<Chosen*>(handle));
  if (chosen != nullptr) chosen->backend->destroy(chosen->handle);
}

}  // namespace inferprobe::executorch_engine
