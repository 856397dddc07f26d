// One loaded method with its memory: what runs. An engine has two of them, one without a tracer and
// one with.
//
// The rule that people break: inputs are handed over before every execution. The planned memory of
// an input is used again for activations, so a second execution would read rubbish.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/executorch/counting_allocator.h"
#include "engines/executorch/loaded_program.h"
#include "engines/executorch/plan_facts.h"
#include "inferprobe/result.h"
#include "inferprobe/tensor.h"

namespace inferprobe::executorch_engine {

// The planned buffers of a method: activations, planned inputs and outputs, mutable buffers. Zero
// when made. Instances that share one have their activations at the same addresses.
class PlannedMemory {
 public:
  static Result<std::shared_ptr<PlannedMemory>> Make(const std::vector<int64_t>& sizes);
  ~PlannedMemory();
  PlannedMemory(const PlannedMemory&) = delete;
  PlannedMemory& operator=(const PlannedMemory&) = delete;

  [[nodiscard]] ::executorch::runtime::Span<::executorch::runtime::Span<uint8_t>> spans() {
    return {spans_.data(), spans_.size()};
  }

 private:
  PlannedMemory() = default;
  std::vector<void*> blocks_;
  std::vector<::executorch::runtime::Span<uint8_t>> spans_;
};

class MethodInstance {
 public:
  struct Parts {
    const LoadedProgram* program = nullptr;
    const PlanFacts* facts = nullptr;
    std::string method;
    std::shared_ptr<PlannedMemory> memory;
    const ::executorch::runtime::NamedDataMap* data = nullptr;
    ::executorch::runtime::EventTracer* tracer = nullptr;
    const ::executorch::runtime::LoadBackendOptionsMap* options = nullptr;  // read during Load()
  };
  static Result<std::unique_ptr<MethodInstance>> Load(const Parts& parts);

  // Precondition: they fit the plan (measure::CheckInputs).
  Result<void> SetInputs(const std::vector<Tensor>& inputs);

  // The two halves of a run. They allocate only what the runtime allocates.
  ::executorch::runtime::Error GiveInputs();
  ::executorch::runtime::Error Execute();

  Result<std::vector<Tensor>> Outputs();

  [[nodiscard]] const CountingAllocator& method_allocator() const { return method_allocator_; }
  [[nodiscard]] const CountingAllocator& temp_allocator() const { return temp_allocator_; }

 private:
  // An input as ExecuTorch wants it.
  struct InputStorage {
    std::vector<std::byte> data;
    std::vector<int32_t> sizes;
    std::vector<int32_t> strides;
    std::vector<uint8_t> dim_order;
    std::optional<::executorch::aten::TensorImpl> tensor;
  };
  struct Input {
    size_t index;
    ::executorch::runtime::EValue value;
  };

  explicit MethodInstance(const Parts& parts);
  Result<void> PlaceOutputs();

  const PlanFacts* facts_;
  std::shared_ptr<PlannedMemory> memory_;
  CountingAllocator method_allocator_;
  CountingAllocator temp_allocator_;
  ::executorch::runtime::HierarchicalAllocator planned_;
  ::executorch::runtime::MemoryManager manager_;
  std::vector<std::vector<std::byte>> own_outputs_;  // of outputs that the program did not plan
  std::deque<InputStorage> storage_;
  std::vector<Input> inputs_;
  std::optional<::executorch::runtime::Method> method_;
};

}  // namespace inferprobe::executorch_engine
