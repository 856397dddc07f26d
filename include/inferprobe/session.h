// RuntimeSession: load a model and run it in the caller's own process.
//
//   auto session = inferprobe::RuntimeSession::Load("samples/vision_xnnpack.pte");
//   if (!session) return Fail(session.error().message);
//   session->SetRandomInputs(/*seed=*/0);
//   auto run = session->Run();
//   auto outputs = session->Outputs();
//
// With `options.observe` and a running Recorder, Run() records the inside of the model (operators,
// delegates) into the calling thread's ring; without either it is the plain engine.
//
// The engine is a plugin, found beside the program, beside this library, in the folder `inferprobe`
// beside it, or in the folders of INFERPROBE_PLUGIN_PATH. A session may be used by one thread at a
// time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/config.h"
#include "inferprobe/result.h"
#include "inferprobe/tensor.h"

namespace inferprobe {

class CpuExecutor;
class ParallelRegionCollector;

namespace measure {
class Engine;
}

struct RuntimeSessionOptions {
  std::string engine;  // "": by the file's content
  std::string method = "forward";
  std::vector<std::string> data_files;  // tensors kept apart from the program (.ptd)
  int threads = 0;                      // 0: the engine's default
  bool observe = false;                 // Run() records the model's inside while a recorder runs
  // How much is seen of delegates in observed runs, and where layers go (inferprobe/config.h).
  ProfileLevel level = ProfileLevel::kDelegate;
  std::vector<std::string> delegate_levels;  // of one alone: "openvino=layers"
  ProfileFormat profile_format = ProfileFormat::kEtdump;
  std::string profile_path_prefix;
  std::string profile_model;  // names the files; "": after the model's
  bool profile_overwrite = false;
  // Which delegate runs behind an id that has several: "openvino=ours", "openvino=async",
  // "openvino=stock".
  std::vector<std::string> delegates;

  // Who is told of parallel regions (inferprobe/region.h); nullptr: they are not looked at. With a
  // collector every Run() is an observed one, which a recorder that runs receives, too. Load()
  // fails with kUnsupported where the engine's loops cannot be seen.
  std::shared_ptr<ParallelRegionCollector> regions;
  // Where engines run the loops that they hand out; nullptr: on threads of their own, as
  // ExecuTorch does always.
  std::shared_ptr<CpuExecutor> executor;
};

class INFERPROBE_API RuntimeSession {
 public:
  static Result<RuntimeSession> Load(const std::string& model_path,
                                     const RuntimeSessionOptions& options = {});
  RuntimeSession(RuntimeSession&&) noexcept;
  RuntimeSession& operator=(RuntimeSession&&) noexcept;
  ~RuntimeSession();

  [[nodiscard]] std::vector<TensorSpec> inputs() const;
  [[nodiscard]] std::vector<TensorSpec> outputs() const;

  // One tensor for each input, in order; copied. Wrong counts, types and shapes are refused.
  Result<void> SetInputs(std::vector<Tensor> inputs);
  // Values of the program's types and shapes, the same for a seed on every machine.
  Result<void> SetRandomInputs(uint64_t seed);

  // One inference. Without inputs set: random ones of seed 0.
  Result<void> Run();
  // Copies of the last run's outputs.
  Result<std::vector<Tensor>> Outputs();

  // For inferprobe's own worker.
  measure::Engine& engine();

 private:
  struct Impl;
  explicit RuntimeSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferprobe
