#include "engines/executorch/wrapped_backend.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "inferprobe/executorch_delegate.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
namespace kit = ::inferprobe::executorch_delegate;

struct Handle {
  et::DelegateHandle* inner = nullptr;
  ProfileLevel level = ProfileLevel::kOff;
  std::unique_ptr<DelegateProfiler> profiler;
};

// What the backend was given, without what is ours: one that checks its keys would refuse them.
std::vector<et::BackendOption> WithoutOurs(const et::BackendInitContext& context,
                                           const std::string& prefix) {
  const std::string ours = prefix + "_profile_";
  std::vector<et::BackendOption> theirs;
  for (const et::BackendOption& option : context.runtime_specs()) {
    if (!std::string_view(option.key).starts_with(ours)) theirs.push_back(option);
  }
  return theirs;
}

}  // namespace

std::string EventPrefixOf(std::string_view id) {
  std::string lower(id);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

WrappedBackend::WrappedBackend(std::string id, et::BackendInterface* inner)
    : id_(std::move(id)), prefix_(EventPrefixOf(id_)), inner_(inner) {}
WrappedBackend::~WrappedBackend() = default;

et::Result<et::DelegateHandle*> WrappedBackend::init(et::BackendInitContext& context,
                                                     et::FreeableBuffer* processed,
                                                     et::ArrayRef<et::CompileSpec> specs) const {
  auto config = kit::ConfigOf(prefix_, context, specs);
  if (!config) return kit::Fail(config.error());
  const bool off = config->level == ProfileLevel::kOff;

  DelegateOptions options;
  options.prefix = prefix_;
  options.engine = id_;
  options.method = context.get_method_name() != nullptr ? context.get_method_name() : "";
  // Before the backend frees it. Hashing is not free, and at level off nothing needs it.
  if (!off) {
    options.content_hash =
        EngineContentHash({static_cast<const std::byte*>(processed->data()), processed->size()});
  }
  options.config = *config;
  options.place = kit::PlaceOfBuild();
  options.follows_process_wide = false;
  options.log = kit::LogError;

  const std::vector<et::BackendOption> theirs = WithoutOurs(context, prefix_);
  et::BackendInitContext inner_context(
      context.get_runtime_allocator(), off ? nullptr : context.event_tracer(),
      context.get_method_name(), context.get_named_data_map(), {theirs.data(), theirs.size()});
  et::DelegateHandle* inner = nullptr;
  {
    kit::TracerSink sink(context.event_tracer());
    const DelegateLoad load(prefix_, config->level, sink.get());
    auto loaded = inner_->init(inner_context, processed, specs);
    if (!loaded.ok()) return loaded.error();
    inner = *loaded;
  }
  // Only now: one that could not be loaded has no identity.
  auto profiler = DelegateProfiler::Create(std::move(options));
  if (!profiler) {
    inner_->destroy(inner);
    return kit::Fail(profiler.error());
  }
  return new Handle{inner, config->level, std::move(*profiler)};
}

et::Error WrappedBackend::execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                                  et::Span<et::EValue*> args) const {
  auto* own = static_cast<Handle*>(handle);
  if (own->level == ProfileLevel::kOff) {
    et::BackendExecutionContext quiet(nullptr, context.get_temp_allocator(),
                                      context.get_method_name());
    return inner_->execute(quiet, own->inner, args);
  }
  kit::TracerSink sink(context.event_tracer());
  DelegateCall call(own->profiler.get(), sink.get());
  const et::Error error = inner_->execute(context, own->inner, args);
  if (error == et::Error::Ok) call.Finish(CallMode::kUnknown);
  return error;
}

void WrappedBackend::destroy(et::DelegateHandle* handle) const {
  const std::unique_ptr<Handle> own(static_cast<Handle*>(handle));
  if (own == nullptr) return;
  if (auto closed = own->profiler->Close(); !closed) {
    static_cast<void>(kit::Fail(closed.error()));
  }
  inner_->destroy(own->inner);
}

}  // namespace inferprobe::executorch_engine
