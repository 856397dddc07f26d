// ExecuTorch behind inferprobe's engine border: a program, one method of it, and up to two loaded
// instances of that method, without and with a tracer.
//
// The rule that people break: the two instances share their planned memory (so that activations lie
// at the same addresses, and the comparison of the two is one of the tracer alone). The outputs of
// one are gone once the other has run: take them right after the run. Only a method that keeps
// state between runs has memory of its own for each instance, because otherwise one would go on
// from where the other stopped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/executorch/data_files.h"
#include "engines/executorch/delegate_options.h"
#include "engines/executorch/loaded_program.h"
#include "engines/executorch/method_instance.h"
#include "engines/executorch/plan_facts.h"
#include "engines/executorch/program_tables.h"
#include "engines/executorch/thread_pool.h"
#include "engines/executorch/tracer.h"
#include "measure/engine.h"

namespace inferprobe::executorch_engine {

// Names of the backends that are registered in this process.
std::vector<std::string> RegisteredBackends();
// "1.5.1", of the SDK that this was built against.
std::string RuntimeVersion();

class ExecutorchEngine final : public measure::Engine {
 public:
  static Result<std::unique_ptr<ExecutorchEngine>> Load(const measure::LoadOptions& options);

  // Hashes the file when first asked for, so that loading is not slower for it.
  [[nodiscard]] const profile::ModelFacts& model() const override;
  [[nodiscard]] const profile::EngineFacts& engine() const override { return engine_facts_; }
  [[nodiscard]] profile::MemoryFacts memory() const override;
  [[nodiscard]] std::vector<TensorSpec> inputs() const override;
  [[nodiscard]] std::vector<measure::BundledCase> bundled_cases() const override;
  [[nodiscard]] profile::Metric<std::string> region_sources() const override;

  Result<void> SetInputs(std::vector<Tensor> inputs) override;
  Result<void> PrepareObserved() override;
  Result<void> Run(const measure::RunView& view) override;
  Result<std::vector<Tensor>> Outputs(bool observed) override;

 private:
  ExecutorchEngine() = default;
  Result<void> CheckPlan() const;
  Result<std::unique_ptr<MethodInstance>> MakeInstance(std::shared_ptr<PlannedMemory> memory,
                                                       RingTracer* tracer,
                                                       const ProfileConfig& delegates);
  Result<void> RunObserved();

  measure::LoadOptions options_;
  DelegateChoices delegate_choices_;
  std::unique_ptr<ProgramTables> file_;
  std::unique_ptr<LoadedProgram> program_;
  std::unique_ptr<DataFiles> data_;
  const executorch_flatbuffer::ExecutionPlan* plan_ = nullptr;
  PlanFacts facts_;
  profile::EngineFacts engine_facts_;
  mutable std::unique_ptr<profile::ModelFacts> model_facts_;
  std::vector<Tensor> inputs_;
  bool inputs_set_ = false;
  enum class LastRun : uint8_t { kNone, kPlain, kObserved } last_run_ = LastRun::kNone;

  std::shared_ptr<PlannedMemory> memory_;
  std::unique_ptr<RingTracer> tracer_;
  uint32_t set_inputs_name_ = 0;
  // Last, so that they go first: they point into everything above.
  std::unique_ptr<MethodInstance> plain_;
  std::unique_ptr<MethodInstance> observed_;
  std::unique_ptr<PoolUser> pool_user_;
};

}  // namespace inferprobe::executorch_engine
