#include "engines/executorch/plan_check.h"

#include <fmt/format.h>

#include "program_generated.h"

namespace inferprobe::executorch_engine {
namespace {

namespace fb = executorch_flatbuffer;

template <typename Vector>
uint32_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

class Checker {
 public:
  Checker(const fb::Program& program, const fb::ExecutionPlan& plan)
      : program_(program), plan_(plan), values_(SizeOf(plan.values())) {}

  // "" if all is well.
  std::string Check() {
    CheckIndices(plan_.inputs(), "an input");
    CheckIndices(plan_.outputs(), "an output");
    for (uint32_t i = 0; i < values_ && wrong_.empty(); ++i) CheckValue(*plan_.values()->Get(i));
    for (uint32_t i = 0; i < SizeOf(plan_.delegates()); ++i) {
      CheckDelegate(*plan_.delegates()->Get(i));
    }
    for (uint32_t i = 0; i < SizeOf(plan_.operators()); ++i) {
      if (plan_.operators()->Get(i)->name() == nullptr) Wrong("an operator has no name");
    }
    if (SizeOf(plan_.chains()) == 0) Wrong("it has no instructions");
    for (uint32_t i = 0; i < SizeOf(plan_.chains()); ++i) CheckChain(*plan_.chains()->Get(i));
    return wrong_;
  }

 private:
  void Wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  void CheckIndex(int64_t index, std::string_view whose) {
    if (index < 0 || index >= values_) {
      Wrong(fmt::format("{} is value {} of {}", whose, index, values_));
    }
  }
  void CheckIndices(const flatbuffers::Vector<int32_t>* indices, std::string_view whose) {
    for (uint32_t i = 0; i < SizeOf(indices); ++i) CheckIndex(indices->Get(i), whose);
  }
  bool IsKind(int64_t index, fb::KernelTypes kind) const {
    return index >= 0 && index < values_ &&
           plan_.values()->Get(static_cast<uint32_t>(index))->val_type() == kind;
  }

  void CheckValue(const fb::EValue& value) {
    if (const auto* ints = value.val_as_IntList()) {
      for (uint32_t i = 0; i < SizeOf(ints->items()); ++i) {
        if (!IsKind(ints->items()->Get(i), fb::KernelTypes::Int)) {
          Wrong(fmt::format("value {} in a list of ints is none", ints->items()->Get(i)));
        }
      }
    } else if (const auto* tensors = value.val_as_TensorList()) {
      for (uint32_t i = 0; i < SizeOf(tensors->items()); ++i) {
        if (!IsKind(tensors->items()->Get(i), fb::KernelTypes::Tensor)) {
          Wrong(fmt::format("value {} in a list of tensors is none", tensors->items()->Get(i)));
        }
      }
    } else if (const auto* optional = value.val_as_OptionalTensorList()) {
      for (uint32_t i = 0; i < SizeOf(optional->items()); ++i) {
        const int32_t index = optional->items()->Get(i);  // -1 is None
        if (index != -1 && !IsKind(index, fb::KernelTypes::Tensor) &&
            !IsKind(index, fb::KernelTypes::Null)) {
          Wrong(fmt::format("value {} in a list of optional tensors is none", index));
        }
      }
    } else if (const auto* tensor = value.val_as_Tensor()) {
      CheckTensor(*tensor);
    }
  }

  void CheckTensor(const fb::Tensor& tensor) {
    const auto* allocation = tensor.allocation_info();
    // Buffer 0 is reserved.
    if (allocation != nullptr &&
        (allocation->memory_id() == 0 ||
         allocation->memory_id() >= SizeOf(plan_.non_const_buffer_sizes()))) {
      Wrong(fmt::format("a tensor lies in planned buffer {} of {}", allocation->memory_id(),
                        SizeOf(plan_.non_const_buffer_sizes())));
    }
    if (SizeOf(tensor.sizes()) != SizeOf(tensor.dim_order())) {
      Wrong("a tensor has not as many dimensions as it has places for them");
    }
  }

  void CheckDelegate(const fb::BackendDelegate& delegate) {
    const auto* processed = delegate.processed();
    if (delegate.id() == nullptr || processed == nullptr) {
      Wrong("a delegate has no backend or no data");
      return;
    }
    const bool inlined = processed->location() == fb::DataLocation::INLINE;
    const uint32_t count =
        inlined ? SizeOf(program_.backend_delegate_data()) : SizeOf(program_.segments());
    if (processed->index() >= count) Wrong("a delegate's data is not in the file");
  }

  void CheckChain(const fb::Chain& chain) {
    const uint32_t count = SizeOf(chain.instructions());
    for (uint32_t i = 0; i < count; ++i) {
      const auto& instruction = *chain.instructions()->Get(i);
      if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
        CheckIndices(kernel->args(), fmt::format("an argument of instruction {}", i));
        if (kernel->op_index() < 0 ||
            static_cast<uint32_t>(kernel->op_index()) >= SizeOf(plan_.operators())) {
          Wrong(fmt::format("instruction {} calls operator {}", i, kernel->op_index()));
        }
      } else if (const auto* delegated = instruction.instr_args_as_DelegateCall()) {
        CheckIndices(delegated->args(), fmt::format("an argument of instruction {}", i));
        if (delegated->delegate_index() < 0 ||
            static_cast<uint32_t>(delegated->delegate_index()) >= SizeOf(plan_.delegates())) {
          Wrong(fmt::format("instruction {} calls delegate {}", i, delegated->delegate_index()));
        }
      } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
        CheckIndex(move->move_from(), fmt::format("the source of instruction {}", i));
        CheckIndex(move->move_to(), fmt::format("the target of instruction {}", i));
      } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
        CheckIndex(jump->cond_value_index(), fmt::format("the condition of instruction {}", i));
        // One beyond the last is the end.
        if (jump->destination_instruction() < 0 ||
            static_cast<uint32_t>(jump->destination_instruction()) > count) {
          Wrong(fmt::format("instruction {} jumps to {}", i, jump->destination_instruction()));
        }
      } else if (const auto* free_call = instruction.instr_args_as_FreeCall()) {
        if (!IsKind(free_call->value_index(), fb::KernelTypes::Tensor)) {
          Wrong(fmt::format("instruction {} frees value {}", i, free_call->value_index()));
        }
      } else {
        Wrong(fmt::format("instruction {} is of an unknown kind", i));
      }
    }
  }

  const fb::Program& program_;
  const fb::ExecutionPlan& plan_;
  const uint32_t values_;
  std::string wrong_;
};

}  // namespace

Result<void> CheckPlanIndices(const std::string& path, const fb::Program& program,
                              const fb::ExecutionPlan& plan) {
  const std::string wrong = Checker(program, plan).Check();
  if (wrong.empty()) return {};
  return MakeError(ErrorCode::kMalformed,
                   fmt::format("{}: method \"{}\" cannot be followed: {}", path,
                               plan.name() == nullptr ? "" : plan.name()->string_view(), wrong));
}

}  // namespace inferprobe::executorch_engine
