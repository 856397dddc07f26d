// What inferprobe looks for in `libinferprobe_engine_executorch.so`: one symbol. What else it
// exports is for the loader (backend_registration.h, pool_hooks.h).
#include <executorch/runtime/platform/runtime.h>

#include "engines/executorch/describe_backends.h"
#include "engines/executorch/engine.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/pool_hooks.h"
#include "measure/engine.h"

namespace inferprobe::executorch_engine {
namespace {

class ExecutorchPlugin final : public measure::EnginePlugin {
 public:
  Result<measure::EngineDescription> Describe() override {
    InstallLogCapture();
    measure::EngineDescription description;
    description.name = "executorch";
    description.title = "ExecuTorch";
    description.version = RuntimeVersion();
    description.suffixes = {".pte", ".bpte"};
    description.backends = DescribeBackends();
    const auto threads = PoolThreads();
    description.notes.push_back(threads ? "thread pool of " + std::to_string(*threads) +
                                              " threads by default"
                                        : "number of threads: " + threads.missing().hint);
    description.regions = RegionSources();
    return description;
  }

  Result<std::unique_ptr<measure::Engine>> Load(const measure::LoadOptions& options) override {
    auto engine = ExecutorchEngine::Load(options);
    if (!engine) return tl::unexpected(engine.error());
    return std::unique_ptr<measure::Engine>(std::move(*engine));
  }
};

measure::EnginePlugin* Create() {
  static ExecutorchPlugin plugin;
  return &plugin;
}

}  // namespace
}  // namespace inferprobe::executorch_engine

extern "C" __attribute__((visibility("default")))
const inferprobe::measure::EngineEntry inferprobe_engine_entry;
const inferprobe::measure::EngineEntry inferprobe_engine_entry = {
    inferprobe::measure::kEngineAbi, inferprobe::executorch_engine::Create};
