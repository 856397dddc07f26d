#include "inferprobe/session.h"

#include "inferprobe/scope.h"
#include "measure/engine.h"
#include "measure/engine_registry.h"
#include "measure/inputs/inputs.h"

namespace inferprobe {

struct RuntimeSession::Impl {
  std::unique_ptr<measure::Engine> engine;
  bool observe = false;
  bool inputs_set = false;
  bool last_observed = false;
};

RuntimeSession::RuntimeSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RuntimeSession::RuntimeSession(RuntimeSession&&) noexcept = default;
RuntimeSession& RuntimeSession::operator=(RuntimeSession&&) noexcept = default;
RuntimeSession::~RuntimeSession() = default;

Result<RuntimeSession> RuntimeSession::Load(const std::string& model_path,
                                            const RuntimeSessionOptions& options) {
  std::string name = options.engine;
  if (name.empty()) {
    auto found = measure::EngineForFile(model_path);
    if (!found) return tl::unexpected(found.error());
    name = *found;
  }
  auto plugin = measure::LoadPlugin(name);
  if (!plugin) return tl::unexpected(plugin.error());
  measure::LoadOptions load;
  load.path = model_path;
  load.method = options.method;
  load.data_files = options.data_files;
  load.threads = options.threads;
  load.delegates.level = options.level;
  load.delegates.format = options.profile_format;
  load.delegates.path_prefix = options.profile_path_prefix;
  load.delegates.model = options.profile_model;
  load.delegates.overwrite = options.profile_overwrite;
  load.delegate_levels = options.delegate_levels;
  load.delegate_choices = options.delegates;
  auto engine = (*plugin)->Load(load);
  if (!engine) return tl::unexpected(engine.error());
  auto impl = std::make_unique<Impl>();
  impl->engine = std::move(*engine);
  impl->observe = options.observe;
  return RuntimeSession(std::move(impl));
}

std::vector<TensorSpec> RuntimeSession::inputs() const { return impl_->engine->inputs(); }
std::vector<TensorSpec> RuntimeSession::outputs() const { return impl_->engine->model().outputs; }
measure::Engine& RuntimeSession::engine() { return *impl_->engine; }

Result<void> RuntimeSession::SetInputs(std::vector<Tensor> inputs) {
  INFERPROBE_RETURN_IF_ERROR(measure::CheckInputs(impl_->engine->inputs(), inputs));
  INFERPROBE_RETURN_IF_ERROR(impl_->engine->SetInputs(std::move(inputs)));
  impl_->inputs_set = true;
  return {};
}

Result<void> RuntimeSession::SetRandomInputs(uint64_t seed) {
  auto resolved = measure::ResolveInputs(impl_->engine->inputs(), {{}, {}, seed});
  if (!resolved) return tl::unexpected(resolved.error());
  return SetInputs(std::move(resolved->tensors));
}

Result<void> RuntimeSession::Run() {
  if (!impl_->inputs_set) INFERPROBE_RETURN_IF_ERROR(SetRandomInputs(0));
  const bool observed = impl_->observe && Recording();
  if (observed) INFERPROBE_RETURN_IF_ERROR(impl_->engine->PrepareObserved());
  impl_->last_observed = observed;
  return impl_->engine->Run(observed);
}

Result<std::vector<Tensor>> RuntimeSession::Outputs() {
  return impl_->engine->Outputs(impl_->last_observed);
}

}  // namespace inferprobe
