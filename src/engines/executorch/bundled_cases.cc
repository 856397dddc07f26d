#include "engines/executorch/bundled_cases.h"

#include <cstring>
#include <optional>

#include "bundled_program_schema_generated.h"
#include "engines/executorch/values.h"

namespace inferprobe::executorch_engine {
namespace {

namespace fb = bundled_program_flatbuffer;

template <typename T>
Tensor ScalarOf(ScalarType type, T value) {
  Tensor tensor;
  tensor.type = type;
  tensor.is_scalar = true;
  tensor.data.resize(sizeof value);
  std::memcpy(tensor.data.data(), &value, sizeof value);
  return tensor;
}

std::optional<Tensor> ReadTensor(const fb::Tensor& stored) {
  const auto type = FromExecutorch(static_cast<EtScalarType>(stored.scalar_type()));
  if (!type || stored.data() == nullptr) return std::nullopt;
  Tensor tensor;
  tensor.type = *type;
  uint64_t bytes = ScalarTypeSize(*type);
  for (uint32_t i = 0; stored.sizes() != nullptr && i < stored.sizes()->size(); ++i) {
    const int32_t extent = stored.sizes()->Get(i);
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) {
      return std::nullopt;
    }
    tensor.shape.push_back(extent);
  }
  if (bytes != stored.data()->size()) return std::nullopt;

  std::vector<uint8_t> dim_order;
  if (stored.dim_order() != nullptr) {
    dim_order.assign(stored.dim_order()->begin(), stored.dim_order()->end());
  }
  tensor.data.resize(bytes);
  const auto* data = reinterpret_cast<const std::byte*>(stored.data()->data());
  if (IsCOrder(dim_order)) {
    if (bytes > 0) std::memcpy(tensor.data.data(), data, bytes);
    return tensor;
  }
  std::vector<bool> seen(tensor.shape.size(), false);
  for (const uint8_t dim : dim_order) {
    if (dim >= seen.size() || seen[dim]) return std::nullopt;
    seen[dim] = true;
  }
  if (dim_order.size() != seen.size()) return std::nullopt;
  Relayout(data, tensor.data.data(), tensor.shape, dim_order, ScalarTypeSize(*type),
           Direction::kToCOrder);
  return tensor;
}

std::optional<std::vector<Tensor>> ReadValues(
    const flatbuffers::Vector<flatbuffers::Offset<fb::Value>>* values) {
  std::vector<Tensor> tensors;
  if (values == nullptr) return tensors;
  for (const auto* value : *values) {
    if (const auto* tensor = value->val_as_Tensor()) {
      auto read = ReadTensor(*tensor);
      if (!read) return std::nullopt;
      tensors.push_back(std::move(*read));
    } else if (const auto* number = value->val_as_Int()) {
      tensors.push_back(ScalarOf(ScalarType::kInt64, number->int_val()));
    } else if (const auto* real = value->val_as_Double()) {
      tensors.push_back(ScalarOf(ScalarType::kFloat64, real->double_val()));
    } else if (const auto* flag = value->val_as_Bool()) {
      tensors.push_back(ScalarOf(ScalarType::kBool, flag->bool_val()));
    } else {
      return std::nullopt;
    }
  }
  return tensors;
}

}  // namespace

std::vector<measure::BundledCase> ReadBundledCases(const ProgramTables& file,
                                                   const std::string& method) {
  std::vector<measure::BundledCase> cases;
  const auto* suites = file.bundle() == nullptr ? nullptr : file.bundle()->method_test_suites();
  if (suites == nullptr) return cases;
  for (const auto* suite : *suites) {
    if (suite->method_name() == nullptr || suite->method_name()->string_view() != method ||
        suite->test_cases() == nullptr) {
      continue;
    }
    for (const auto* stored : *suite->test_cases()) {
      auto inputs = ReadValues(stored->inputs());
      auto expected = ReadValues(stored->expected_outputs());
      if (inputs && expected) cases.push_back({std::move(*inputs), std::move(*expected)});
    }
  }
  return cases;
}

}  // namespace inferprobe::executorch_engine
