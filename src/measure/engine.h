// The border between inferprobe and whatever runs a model. An engine is a plugin,
// `libinferprobe_engine_<name>.so`, found at run time: describe, load, run, observe.
//
// The rule that people break: Run() is measured from outside. Nothing in it may allocate, log or
// take a lock on inferprobe's behalf; what an observed run records goes through record/ only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inferprobe/config.h"
#include "inferprobe/executor.h"
#include "inferprobe/result.h"
#include "inferprobe/tensor.h"
#include "profile/facts.h"

namespace inferprobe::measure {

struct LoadOptions {
  std::string path;
  std::string method = "forward";
  std::vector<std::string> data_files;
  int threads = 0;  // 0: the engine's default
  // Of the observed instance. The other one is never profiled.
  ProfileConfig delegates;
  std::vector<std::string> delegate_levels;  // of one alone: "openvino=layers"
  // Which delegate runs behind an id that has several: "openvino=stock".
  std::vector<std::string> delegate_choices;
};

struct BundledCase {
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // empty: none given
  std::string source{};          // of the inputs, in words; "": "bundled case 0"
};

// What one run is given. It owns none of it.
struct RunView {
  // NOLINTNEXTLINE(google-explicit-constructor)
  RunView(bool is_observed, const ExecutorView* loops = nullptr)
      : observed(is_observed), executor(loops) {}

  bool observed;                 // its inside is recorded
  const ExecutorView* executor;  // for the engine's loops, with who is told of them; or nullptr
};

// One loaded model in this process. Not thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const profile::ModelFacts& model() const = 0;
  [[nodiscard]] virtual const profile::EngineFacts& engine() const = 0;
  [[nodiscard]] virtual profile::MemoryFacts memory() const = 0;
  // For a model that does not say what it takes: what the user gives (as InputRequest has it)
  // decides what inputs() says from now on.
  virtual Result<void> ExpectInputs(const std::vector<std::string>& /*files*/,
                                    const std::vector<std::string>& /*shapes*/) {
    return {};
  }
  [[nodiscard]] virtual std::vector<TensorSpec> inputs() const = 0;
  [[nodiscard]] virtual std::vector<BundledCase> bundled_cases() const { return {}; }
  // Which of its parallel loops are seen, in words, or why none is.
  [[nodiscard]] virtual profile::Metric<std::string> region_sources() const {
    return {profile::Status::kUnsupported, "this engine's loops are not seen"};
  }

  // Inputs for the runs that follow; copied. Count, types and shapes have been checked by the
  // caller against inputs(); the engine refuses what it cannot take (a dynamic shape out of
  // bounds).
  virtual Result<void> SetInputs(std::vector<Tensor> inputs) = 0;

  // Prepares the profiled instance, with the inputs of SetInputs. Apart from Load, so that the cold
  // load and the first run are those of a program without profiling.
  virtual Result<void> PrepareObserved() = 0;

  // Around each observed run, outside of what is timed: for what must be started and stopped to
  // look inside. What it saw is published by the second, on the run's thread.
  virtual Result<void> BeforeObservedRun() { return {}; }
  virtual Result<void> AfterObservedRun() { return {}; }

  // One inference. Precondition of an observed one: PrepareObserved().
  virtual Result<void> Run(const RunView& view) = 0;

  // Copies of the outputs of the last run that was, or was not, observed.
  virtual Result<std::vector<Tensor>> Outputs(bool observed) = 0;
};

struct BackendDescription {
  std::string name;
  profile::Metric<std::string> state;  // what is seen of it, or why nothing is
};

struct EngineDescription {
  std::string name;                          // "executorch"
  std::string title;                         // "ExecuTorch"
  std::string version;                       // of the runtime in use
  std::vector<std::string> suffixes;         // ".pte", ".bpte"
  std::vector<BackendDescription> backends;  // what can run inside
  std::vector<std::string> notes;
  // Which of its parallel loops are seen, in words, or why none is.
  profile::Metric<std::string> regions = {profile::Status::kUnsupported,
                                          "this engine's loops are not seen"};
};

class EnginePlugin {
 public:
  virtual ~EnginePlugin() = default;
  virtual Result<EngineDescription> Describe() = 0;
  virtual Result<std::unique_ptr<Engine>> Load(const LoadOptions& options) = 0;
};

// The one symbol that a plugin exports. `abi` must equal kEngineAbi: plugin and command come from
// one build.
constexpr uint32_t kEngineAbi = 6;
constexpr const char* kEngineEntrySymbol = "inferprobe_engine_entry";
struct EngineEntry {
  uint32_t abi;
  EnginePlugin* (*create)();
};

}  // namespace inferprobe::measure
