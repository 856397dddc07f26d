#include "engines/executorch/values.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <fmt/format.h>

#include <cstring>

namespace inferprobe::executorch_engine {
namespace {

struct TypePair {
  EtScalarType theirs;
  ScalarType ours;
};
constexpr TypePair kTypes[] = {
    {EtScalarType::Byte, ScalarType::kUint8},
    {EtScalarType::Char, ScalarType::kInt8},
    {EtScalarType::Short, ScalarType::kInt16},
    {EtScalarType::Int, ScalarType::kInt32},
    {EtScalarType::Long, ScalarType::kInt64},
    {EtScalarType::Half, ScalarType::kFloat16},
    {EtScalarType::Float, ScalarType::kFloat32},
    {EtScalarType::Double, ScalarType::kFloat64},
    {EtScalarType::ComplexHalf, ScalarType::kComplexFloat32},
    {EtScalarType::ComplexFloat, ScalarType::kComplexFloat64},
    {EtScalarType::ComplexDouble, ScalarType::kComplexFloat128},
    {EtScalarType::Bool, ScalarType::kBool},
    {EtScalarType::QInt8, ScalarType::kQint8},
    {EtScalarType::QUInt8, ScalarType::kQuint8},
    {EtScalarType::QInt32, ScalarType::kQint32},
    {EtScalarType::BFloat16, ScalarType::kBfloat16},
    {EtScalarType::UInt16, ScalarType::kUint16},
    {EtScalarType::UInt32, ScalarType::kUint32},
    {EtScalarType::UInt64, ScalarType::kUint64},
};

}  // namespace

std::optional<ScalarType> FromExecutorch(EtScalarType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.theirs == type) return pair.ours;
  }
  return std::nullopt;
}

EtScalarType ToExecutorch(ScalarType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.ours == type) return pair.theirs;
  }
  return EtScalarType::Undefined;
}

std::string EtTypeName(EtScalarType type) {
  const auto value = static_cast<int>(type);
  if (value < 0 || value >= static_cast<int>(EtScalarType::NumOptions)) {
    return fmt::format("scalar type {}", value);
  }
  return ::executorch::runtime::toString(type);
}

bool IsCOrder(std::span<const uint8_t> dim_order) {
  for (size_t i = 0; i < dim_order.size(); ++i) {
    if (dim_order[i] != i) return false;
  }
  return true;
}

std::vector<int32_t> StridesOf(std::span<const int32_t> sizes, std::span<const uint8_t> dim_order) {
  std::vector<int32_t> strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    const uint8_t dim = dim_order[i];
    strides[dim] = static_cast<int32_t>(step);
    step *= sizes[dim] == 0 ? 1 : sizes[dim];
  }
  return strides;
}

void Relayout(const std::byte* from, std::byte* to, std::span<const int64_t> shape,
              std::span<const uint8_t> dim_order, size_t element, Direction direction) {
  const std::vector<int32_t> sizes(shape.begin(), shape.end());
  const std::vector<int32_t> strides = StridesOf(sizes, dim_order);
  const auto count = static_cast<size_t>(ElementCount({shape.begin(), shape.end()}));
  std::vector<int64_t> index(shape.size(), 0);
  size_t packed = 0;  // offset in the dim_order side, in elements
  for (size_t c_order = 0; c_order < count; ++c_order) {
    const bool forth = direction == Direction::kFromCOrder;
    std::memcpy(to + (forth ? packed : c_order) * element,
                from + (forth ? c_order : packed) * element, element);
    for (size_t d = shape.size(); d-- > 0;) {
      packed += static_cast<size_t>(strides[d]);
      if (++index[d] < shape[d]) break;
      packed -= static_cast<size_t>(strides[d]) * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

}  // namespace inferprobe::executorch_engine
