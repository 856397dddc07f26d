#include "engines/executorch/plan_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/files.h"
#include "program_generated.h"

namespace inferprobe::executorch_engine {
namespace {

namespace fb = executorch_flatbuffer;

template <typename T>
std::vector<std::byte> BytesOf(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

void ReadTensor(const fb::Tensor& tensor, PlanValue* value) {
  value->kind = ValueKind::kTensor;
  const auto type = static_cast<EtScalarType>(tensor.scalar_type());
  if (const auto ours = FromExecutorch(type)) {
    value->spec.type = *ours;
  } else {
    value->unsupported = "has the type " + EtTypeName(type);
  }
  if (tensor.sizes() != nullptr) {
    value->spec.shape.assign(tensor.sizes()->begin(), tensor.sizes()->end());
  }
  if (tensor.dim_order() != nullptr) {
    value->dim_order.assign(tensor.dim_order()->begin(), tensor.dim_order()->end());
  }
  std::vector<bool> seen(value->spec.shape.size(), false);
  for (const uint8_t dim : value->dim_order) {
    if (dim < seen.size()) seen[dim] = true;
  }
  if (value->dim_order.size() != seen.size() ||
      std::find(seen.begin(), seen.end(), false) != seen.end()) {
    value->unsupported = "has a broken order of dimensions";
  }
  if (std::any_of(value->spec.shape.begin(), value->spec.shape.end(),
                  [](int64_t extent) { return extent < 0; })) {
    value->unsupported = "has a negative extent";
  }
  value->spec.dynamic = tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC;
  value->unbounded = tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND;
  value->planned = tensor.allocation_info() != nullptr;
  value->constant = tensor.data_buffer_idx() > 0 && !value->planned;
  if (const auto* extra = tensor.extra_tensor_info()) {
    if (extra->fully_qualified_name() != nullptr) {
      value->spec.name = extra->fully_qualified_name()->str();
    }
    if (extra->location() == fb::TensorDataLocation::EXTERNAL) value->constant = !value->planned;
  }
}

template <typename T>
void ReadScalar(ScalarType type, T scalar, PlanValue* value) {
  value->kind = ValueKind::kScalar;
  value->spec.type = type;
  value->spec.is_scalar = true;
  value->spec.fixed_value = BytesOf(scalar);
}

const char* WordsFor(fb::KernelTypes type) {
  switch (type) {
    case fb::KernelTypes::String:
      return "a string";
    case fb::KernelTypes::IntList:
      return "a list of ints";
    case fb::KernelTypes::DoubleList:
      return "a list of floats";
    case fb::KernelTypes::BoolList:
      return "a list of bools";
    case fb::KernelTypes::TensorList:
      return "a list of tensors";
    case fb::KernelTypes::OptionalTensorList:
      return "a list of optional tensors";
    default:
      return "of an unknown kind";
  }
}

PlanValue ReadValue(const fb::ExecutionPlan& plan, int32_t index) {
  PlanValue value;
  value.value_index = index;
  value.what = "nothing";
  const auto* values = plan.values();
  if (values == nullptr || index < 0 || static_cast<uint32_t>(index) >= values->size()) {
    return value;
  }
  const auto* evalue = values->Get(static_cast<uint32_t>(index));
  if (evalue == nullptr) return value;
  if (const auto* tensor = evalue->val_as_Tensor()) {
    ReadTensor(*tensor, &value);
  } else if (const auto* number = evalue->val_as_Int()) {
    ReadScalar(ScalarType::kInt64, number->int_val(), &value);
  } else if (const auto* real = evalue->val_as_Double()) {
    ReadScalar(ScalarType::kFloat64, real->double_val(), &value);
  } else if (const auto* flag = evalue->val_as_Bool()) {
    ReadScalar(ScalarType::kBool, flag->bool_val(), &value);
  } else if (evalue->val_type() == fb::KernelTypes::Null) {
    value.kind = ValueKind::kNone;
    value.what = "None";
  } else {
    value.what = WordsFor(evalue->val_type());
  }
  return value;
}

std::vector<PlanValue> ReadValues(const fb::ExecutionPlan& plan,
                                  const flatbuffers::Vector<int32_t>* indices) {
  std::vector<PlanValue> values;
  if (indices == nullptr) return values;
  for (const int32_t index : *indices) values.push_back(ReadValue(plan, index));
  return values;
}

// Follows what the instructions read and write, to find memory that a run reads before it has
// written it: that content comes from the run before. Errs on the side of state.
class StateFinder {
 public:
  StateFinder(const fb::ExecutionPlan& plan, const PlanFacts& facts) : plan_(plan) {
    if (plan.values() != nullptr) written_.resize(plan.values()->size(), false);
    for (const PlanValue& input : facts.inputs) MarkWritten(input.value_index);
  }

  bool Find() {
    if (HasLastingTensor()) return true;
    const auto* chains = plan_.chains();
    for (uint32_t c = 0; chains != nullptr && c < chains->size(); ++c) {
      const auto* instructions = chains->Get(c)->instructions();
      for (uint32_t i = 0; instructions != nullptr && i < instructions->size(); ++i) {
        if (ReadsState(*instructions->Get(i))) return true;
      }
    }
    return false;
  }

 private:
  const fb::Tensor* PlannedTensor(int32_t index) const {
    if (index < 0 || static_cast<size_t>(index) >= written_.size()) return nullptr;
    const auto* evalue = plan_.values()->Get(static_cast<uint32_t>(index));
    const auto* tensor = evalue == nullptr ? nullptr : evalue->val_as_Tensor();
    return tensor != nullptr && tensor->allocation_info() != nullptr ? tensor : nullptr;
  }
  bool Unwritten(int32_t index) const {
    return PlannedTensor(index) != nullptr && !written_[static_cast<size_t>(index)];
  }
  void MarkWritten(int32_t index) {
    if (index >= 0 && static_cast<size_t>(index) < written_.size()) {
      written_[static_cast<size_t>(index)] = true;
    }
  }

  // Planned memory with an initial value, or with a name of the model's: a buffer of the model.
  bool HasLastingTensor() const {
    for (size_t i = 0; i < written_.size(); ++i) {
      const auto* tensor = PlannedTensor(static_cast<int32_t>(i));
      if (tensor == nullptr || written_[i]) continue;
      const auto* extra = tensor->extra_tensor_info();
      const auto* name = extra == nullptr ? nullptr : extra->fully_qualified_name();
      if (tensor->data_buffer_idx() > 0 || (name != nullptr && name->size() > 0)) return true;
    }
    return false;
  }

  bool ReadsState(const fb::Instruction& instruction) {
    if (const auto* move = instruction.instr_args_as_MoveCall()) {
      MarkWritten(move->move_to());
    } else if (const auto* delegated = instruction.instr_args_as_DelegateCall()) {
      // Which of them it reads is not said. What is new is taken for its outputs.
      for (uint32_t i = 0; delegated->args() != nullptr && i < delegated->args()->size(); ++i) {
        MarkWritten(delegated->args()->Get(i));
      }
    } else if (const auto* call = instruction.instr_args_as_KernelCall()) {
      return call->args() != nullptr && call->args()->size() > 0 && KernelReadsState(*call);
    }
    return false;
  }

  bool KernelReadsState(const fb::KernelCall& call) {
    const auto& args = *call.args();
    // How the exporter writes a new value back into a buffer of the model.
    if (NameOf(call) == "aten::copy_" && PlannedTensor(args.Get(0)) != nullptr &&
        !IsInput(args.Get(0))) {
      return true;
    }
    // The last argument is what the operator returns: one of its outputs, or a list of them.
    std::vector<int32_t> outputs = {args.Get(args.size() - 1)};
    const int32_t last = outputs.front();
    if (last >= 0 && static_cast<size_t>(last) < written_.size()) {
      const auto* evalue = plan_.values()->Get(static_cast<uint32_t>(last));
      const auto* list = evalue == nullptr ? nullptr : evalue->val_as_TensorList();
      if (list != nullptr && list->items() != nullptr) {
        outputs.insert(outputs.end(), list->items()->begin(), list->items()->end());
      }
    }
    bool reads_state = false;
    for (uint32_t i = 0; i + 1 < args.size(); ++i) {
      const bool output = std::find(outputs.begin(), outputs.end(), args.Get(i)) != outputs.end();
      if (!output && Unwritten(args.Get(i))) reads_state = true;
    }
    for (const int32_t output : outputs) MarkWritten(output);
    return reads_state;
  }

  bool IsInput(int32_t index) const {
    const auto* inputs = plan_.inputs();
    return inputs != nullptr && std::find(inputs->begin(), inputs->end(), index) != inputs->end();
  }

  std::string_view NameOf(const fb::KernelCall& call) const {
    const auto* operators = plan_.operators();
    const int32_t index = call.op_index();
    if (operators == nullptr || index < 0 || static_cast<uint32_t>(index) >= operators->size()) {
      return {};
    }
    const auto* name = operators->Get(static_cast<uint32_t>(index))->name();
    return name == nullptr ? std::string_view() : name->string_view();
  }

  const fb::ExecutionPlan& plan_;
  std::vector<bool> written_;
};

std::vector<std::string> ExternalTensors(const fb::ExecutionPlan& plan) {
  std::vector<std::string> names;
  const auto* values = plan.values();
  for (uint32_t i = 0; values != nullptr && i < values->size(); ++i) {
    const auto* evalue = values->Get(i);
    const auto* tensor = evalue == nullptr ? nullptr : evalue->val_as_Tensor();
    const auto* extra = tensor == nullptr ? nullptr : tensor->extra_tensor_info();
    if (extra == nullptr || extra->location() != fb::TensorDataLocation::EXTERNAL) continue;
    names.push_back(
        extra->fully_qualified_name() == nullptr ? "" : extra->fully_qualified_name()->str());
  }
  return names;
}

}  // namespace

PlanFacts ReadPlan(const fb::ExecutionPlan& plan) {
  PlanFacts facts;
  facts.inputs = ReadValues(plan, plan.inputs());
  facts.outputs = ReadValues(plan, plan.outputs());
  for (PlanValue& output : facts.outputs) output.spec.fixed_value.clear();
  if (const auto* sizes = plan.non_const_buffer_sizes()) {
    for (uint32_t i = 1; i < sizes->size(); ++i) facts.planned_buffers.push_back(sizes->Get(i));
  }
  if (const auto* devices = plan.non_const_buffer_device()) {
    for (const auto* device : *devices) {
      if (device != nullptr && device->device_type() != fb::DeviceType::CPU) facts.only_cpu = false;
    }
  }
  if (const auto* delegates = plan.delegates()) {
    for (const auto* delegate : *delegates) {
      if (delegate == nullptr || delegate->id() == nullptr) continue;
      const std::string id = delegate->id()->str();
      if (std::find(facts.backends.begin(), facts.backends.end(), id) == facts.backends.end()) {
        facts.backends.push_back(id);
      }
    }
  }
  facts.external = ExternalTensors(plan);
  facts.keeps_state = StateFinder(plan, facts).Find();
  return facts;
}

void FillInstructions(const ProgramTables& file, const fb::ExecutionPlan& plan,
                      profile::ModelFacts* facts) {
  std::map<std::string, uint32_t> equals;  // how many delegates had this content
  if (const auto* delegates = plan.delegates()) {
    for (uint32_t i = 0; i < delegates->size(); ++i) {
      const auto* delegate = delegates->Get(i);
      profile::DelegateFacts row;
      row.id = i;
      if (delegate->id() != nullptr) row.backend = delegate->id()->str();
      std::string_view blob;
      if (const auto* processed = delegate->processed()) {
        if (processed->location() == fb::DataLocation::SEGMENT) {
          blob = file.Segment(processed->index());
        } else if (const auto* inlined = file.program().backend_delegate_data();
                   inlined != nullptr && processed->index() < inlined->size()) {
          if (const auto* data = inlined->Get(processed->index())->data()) {
            blob = {reinterpret_cast<const char*>(data->data()), data->size()};
          }
        }
      }
      row.blob_bytes = blob.size();
      const std::string hash = base::Sha256Hex(blob).substr(0, 16);
      row.engine_id = fmt::format("{}-{}", hash, equals[hash]++);
      facts->delegates.push_back(std::move(row));
    }
  }

  // Today's programs have one chain; the instructions of further ones are counted, not named.
  const auto* chains = plan.chains();
  int64_t count = 0;
  for (uint32_t c = 0; chains != nullptr && c < chains->size(); ++c) {
    const auto* instructions = chains->Get(c)->instructions();
    if (instructions == nullptr) continue;
    count += instructions->size();
    if (c > 0) continue;
    for (const auto* instruction : *instructions) {
      std::string name;
      int32_t delegate = -1;
      if (const auto* call = instruction->instr_args_as_KernelCall()) {
        const auto* operators = plan.operators();
        if (operators != nullptr && call->op_index() >= 0 &&
            static_cast<uint32_t>(call->op_index()) < operators->size()) {
          const auto* op = operators->Get(static_cast<uint32_t>(call->op_index()));
          if (op->name() != nullptr) name = op->name()->str();
          if (op->overload() != nullptr && op->overload()->size() > 0) {
            name += "." + op->overload()->str();
          }
        }
      } else if (const auto* delegated = instruction->instr_args_as_DelegateCall()) {
        const int32_t index = delegated->delegate_index();
        if (index >= 0 && static_cast<size_t>(index) < facts->delegates.size()) delegate = index;
      }
      facts->instruction_names.push_back(std::move(name));
      facts->instruction_delegates.push_back(delegate);
    }
  }
  facts->instructions = count;
}

}  // namespace inferprobe::executorch_engine
