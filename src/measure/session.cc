#include "inferprobe/session.h"

#include <optional>

#include "inferprobe/scope.h"
#include "measure/engine.h"
#include "measure/engine_registry.h"
#include "measure/inputs/inputs.h"
#include "measure/session_regions.h"
#include "record/ring_writer.h"
#include "regions/current_work.h"

namespace inferprobe {

struct RuntimeSession::Impl {
  // Before the engine, which may hold on to what runs its loops.
  std::shared_ptr<CpuExecutor> executor;
  std::optional<ExecutorView> view;                // of `executor`
  std::optional<measure::SessionRegions> regions;  // where they are looked at
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
  impl->executor = options.executor;
  if (options.regions != nullptr) {
    const auto sources = impl->engine->region_sources();
    if (!sources) {  // none at all would look like a model without loops
      return MakeError(ErrorCode::kUnsupported, "parallel regions cannot be seen here",
                       sources.missing().hint);
    }
    impl->regions.emplace(options.regions);
  }
  if (impl->executor != nullptr) impl->view.emplace(*impl->executor, options.regions.get());
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
  if (regions::t_work.in_callback) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "a model cannot run in a collector's callback: the engine that called it may "
                     "hold locks that the run needs",
                     "keep the event, and run the model when the loop has ended");
  }
  if (!impl_->inputs_set) INFERPROBE_RETURN_IF_ERROR(SetRandomInputs(0));
  const bool observed = impl_->regions || (impl_->observe && Recording());
  if (observed) INFERPROBE_RETURN_IF_ERROR(impl_->engine->PrepareObserved());
  impl_->last_observed = observed;
  const measure::RunView view{observed, impl_->view ? &*impl_->view : nullptr};
  if (observed) INFERPROBE_RETURN_IF_ERROR(impl_->engine->BeforeObservedRun());
  if (impl_->regions) impl_->regions->BeginRun();
  auto ran = impl_->engine->Run(view);
  if (impl_->regions) {
    impl_->regions->EndRun();
    impl_->regions->Publish(record::AttachThread());
  }
  Result<void> after;
  if (observed) after = impl_->engine->AfterObservedRun();
  return ran ? after : ran;
}

Result<std::vector<Tensor>> RuntimeSession::Outputs() {
  return impl_->engine->Outputs(impl_->last_observed);
}

}  // namespace inferprobe
