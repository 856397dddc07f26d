#include "engines/executorch/method_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/machine_memory.h"
#include "inferprobe/config.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

constexpr size_t kArenaAlignment = 64;  // XNNPACK's vectors, a cache line

Tensor ScalarOf(ScalarType type, const void* bytes, size_t size) {
  Tensor tensor;
  tensor.type = type;
  tensor.is_scalar = true;
  tensor.data.resize(size);
  std::memcpy(tensor.data.data(), bytes, size);
  return tensor;
}

et::EValue ScalarValue(const Tensor& tensor) {
  if (tensor.type == ScalarType::kInt64) {
    int64_t value = 0;
    std::memcpy(&value, tensor.data.data(), sizeof value);
    return {value};
  }
  if (tensor.type == ScalarType::kFloat64) {
    double value = 0;
    std::memcpy(&value, tensor.data.data(), sizeof value);
    return {value};
  }
  return {tensor.data[0] != std::byte{0}};
}

}  // namespace

Result<std::shared_ptr<PlannedMemory>> PlannedMemory::Make(const std::vector<int64_t>& sizes) {
  std::shared_ptr<PlannedMemory> memory(new PlannedMemory);
  const int64_t physical = MachineMemoryBytes();
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(total, size, &total) || total > physical) {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("the program plans {} bytes of memory; this machine has {}",
                                   size < 0 ? size : total, physical));
    }
    // Untouched zero pages until something is written, so a large plan costs what it uses.
    const auto bytes = static_cast<size_t>(size);
    void* block = std::calloc(1, bytes + kArenaAlignment);
    if (block == nullptr) {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("no memory for a planned buffer of {} bytes", bytes));
    }
    memory->blocks_.push_back(block);
    size_t room = bytes + kArenaAlignment;
    void* aligned = std::align(kArenaAlignment, bytes, block, room);
    memory->spans_.emplace_back(static_cast<uint8_t*>(aligned), bytes);
  }
  return memory;
}

PlannedMemory::~PlannedMemory() {
  for (void* block : blocks_) std::free(block);
}

MethodInstance::MethodInstance(const Parts& parts)
    : facts_(parts.facts),
      memory_(parts.memory),
      planned_(memory_->spans()),
      manager_(&method_allocator_, &planned_, &temp_allocator_) {}

Result<std::unique_ptr<MethodInstance>> MethodInstance::Load(const Parts& parts) {
  std::unique_ptr<MethodInstance> instance(new MethodInstance(parts));
  ClearLog();
  ClearLastDelegateError();
#ifdef ET_EVENT_TRACER_ENABLED
  et::EventTracer* tracer = parts.tracer;
#else
  et::EventTracer* tracer = nullptr;  // a runtime that is built without it would not call it either
#endif
  auto method = parts.program->program().load_method(parts.method.c_str(), &instance->manager_,
                                                     tracer, parts.data, parts.options);
  if (!method.ok()) {
    Error error =
        EngineError(fmt::format("cannot load method \"{}\"", parts.method), method.error());
    // The kit's own words are whole; ExecuTorch's log cuts a line after 255 bytes.
    if (!LastDelegateError().empty()) {
      error.message =
          fmt::format("cannot load method \"{}\": {}", parts.method, LastDelegateError());
    }
    return tl::unexpected(std::move(error));
  }
  instance->method_.emplace(std::move(*method));
  INFERPROBE_RETURN_IF_ERROR(instance->PlaceOutputs());
  return instance;
}

// A program may leave it to its user where an output goes. An output that is an input or a constant
// has its place already.
Result<void> MethodInstance::PlaceOutputs() {
  for (size_t i = 0; i < facts_->outputs.size(); ++i) {
    const PlanValue& output = facts_->outputs[i];
    if (output.kind != ValueKind::kTensor || output.planned || output.constant) continue;
    const bool is_input = std::any_of(
        facts_->inputs.begin(), facts_->inputs.end(),
        [&](const PlanValue& input) { return input.value_index == output.value_index; });
    if (is_input) continue;
    if (output.unbounded || !output.unsupported.empty()) {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("output {} has no planned memory and no upper bound", i));
    }
    const auto meta = method_->method_meta().output_tensor_meta(i);
    if (!meta.ok()) return tl::unexpected(EngineError("cannot ask for an output", meta.error()));
    auto& buffer = own_outputs_.emplace_back(meta->nbytes());
    const et::Error placed = method_->set_output_data_ptr(buffer.data(), buffer.size(), i);
    if (placed != et::Error::Ok) {
      return tl::unexpected(EngineError(fmt::format("cannot place output {}", i), placed));
    }
  }
  return {};
}

Result<void> MethodInstance::SetInputs(const std::vector<Tensor>& inputs) {
  storage_.clear();
  inputs_.clear();
  for (size_t i = 0; i < facts_->inputs.size(); ++i) {
    const PlanValue& plan = facts_->inputs[i];
    const Tensor& given = inputs[i];
    if (plan.kind == ValueKind::kScalar) {
      inputs_.push_back({i, ScalarValue(given)});
      continue;
    }
    InputStorage& stored = storage_.emplace_back();
    stored.sizes.assign(given.shape.begin(), given.shape.end());
    stored.dim_order = plan.dim_order;
    stored.strides = StridesOf(stored.sizes, stored.dim_order);
    // Never an empty buffer: the runtime takes a null pointer for "no data".
    stored.data.resize(std::max<size_t>(given.data.size(), 1));
    if (IsCOrder(plan.dim_order)) {
      std::copy(given.data.begin(), given.data.end(), stored.data.begin());
    } else {
      Relayout(given.data.data(), stored.data.data(), given.shape, plan.dim_order,
               ScalarTypeSize(given.type), Direction::kFromCOrder);
    }
    stored.tensor.emplace(ToExecutorch(given.type), static_cast<ssize_t>(stored.sizes.size()),
                          stored.sizes.data(), stored.data.data(), stored.dim_order.data(),
                          stored.strides.data());
    inputs_.push_back({i, et::EValue(::executorch::aten::Tensor(&*stored.tensor))});
  }
  // Once now, so that a refusal is an error of SetInputs and not of a run.
  ClearLog();
  if (const et::Error error = GiveInputs(); error != et::Error::Ok) {
    return tl::unexpected(EngineError("the inputs were refused", error));
  }
  return {};
}

et::Error MethodInstance::GiveInputs() {
  for (const Input& input : inputs_) {
    const et::Error error = method_->set_input(input.value, input.index);
    if (error != et::Error::Ok) return error;
  }
  return et::Error::Ok;
}

et::Error MethodInstance::Execute() {
  temp_allocator_.ResetCounts();
  const et::Error error = method_->execute();
  temp_allocator_.reset();
  return error;
}

Result<std::vector<Tensor>> MethodInstance::Outputs() {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < method_->outputs_size(); ++i) {
    const et::EValue& value = method_->get_output(i);
    if (value.isInt()) {
      const int64_t number = value.toInt();
      outputs.push_back(ScalarOf(ScalarType::kInt64, &number, sizeof number));
    } else if (value.isDouble()) {
      const double number = value.toDouble();
      outputs.push_back(ScalarOf(ScalarType::kFloat64, &number, sizeof number));
    } else if (value.isBool()) {
      const bool flag = value.toBool();
      outputs.push_back(ScalarOf(ScalarType::kBool, &flag, sizeof flag));
    } else if (value.isNone()) {
      outputs.push_back({ScalarType::kUint8, {0}, {}, false});
    } else if (!value.isTensor()) {
      return MakeError(
          ErrorCode::kUnsupported,
          fmt::format("output {} is {}, which cannot be copied out", i,
                      i < facts_->outputs.size() ? facts_->outputs[i].what : "unknown"));
    } else {
      const ::executorch::aten::Tensor& tensor = value.toTensor();
      const auto type = FromExecutorch(tensor.scalar_type());
      if (!type) {
        return MakeError(ErrorCode::kUnsupported,
                         fmt::format("output {} has the type {}, which cannot be copied out", i,
                                     EtTypeName(tensor.scalar_type())));
      }
      Tensor copy;
      copy.type = *type;
      copy.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
      copy.data.resize(tensor.nbytes());
      const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
      if (data == nullptr && !copy.data.empty()) {
        return MakeError(ErrorCode::kEngine, fmt::format("output {} has no data", i));
      }
      const std::span<const uint8_t> dim_order(tensor.dim_order().data(),
                                               tensor.dim_order().size());
      if (IsCOrder(dim_order)) {
        if (!copy.data.empty()) std::memcpy(copy.data.data(), data, copy.data.size());
      } else {
        Relayout(data, copy.data.data(), copy.shape, dim_order, ScalarTypeSize(*type),
                 Direction::kToCOrder);
      }
      outputs.push_back(std::move(copy));
    }
  }
  return outputs;
}

}  // namespace inferprobe::executorch_engine
