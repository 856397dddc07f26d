// A double of an engine behind a custom operator of PyTorch, as Torch-TensorRT has them: whoever
// runs the compiled package reaches it by nothing but the process-wide settings of the kit.
// tests/e2e/opaque_operator.py makes the operator.
#include <memory>
#include <utility>

#include "delegate/double_engine.h"
#include "inferprobe/delegate.h"

namespace {

using inferprobe::delegate::DoubleEngine;

struct Engine {
  DoubleEngine engine;
  std::unique_ptr<inferprobe::DelegateProfiler> profiler;
};

}  // namespace

#define OPAQUE_API extern "C" __attribute__((visibility("default")))

// nullptr where the kit refuses it.
OPAQUE_API void* OpaqueEngineLoad() {
  auto loaded = std::make_unique<Engine>();
  inferprobe::DelegateOptions options;
  options.prefix = "double";
  options.engine = "Double";
  options.engine_version = "1";
  options.content_hash = "0123456789abcdef";
  options.place = {false, false};
  options.hooks = &loaded->engine;
  auto profiler = inferprobe::DelegateProfiler::Create(std::move(options));
  if (!profiler) return nullptr;
  loaded->profiler = *std::move(profiler);
  return loaded.release();
}

// The first number grows by one.
OPAQUE_API void OpaqueEngineRun(void* engine, float* data) {
  auto* loaded = static_cast<Engine*>(engine);
  loaded->engine.Execute(loaded->profiler.get(), nullptr, DoubleEngine::Way::kStaged, data);
}

// Writes what is recorded.
OPAQUE_API void OpaqueEngineUnload(void* engine) { delete static_cast<Engine*>(engine); }
