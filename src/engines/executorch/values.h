// Between inferprobe's tensors and ExecuTorch's: scalar types, and the order of dimensions in
// memory (a program may want its image channels last; callers always give C order).
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inferprobe/tensor.h"

namespace inferprobe::executorch_engine {

using EtScalarType = ::executorch::aten::ScalarType;

// nullopt: a type that tensors of ours cannot have (float8, bits, sub-byte quantized).
std::optional<ScalarType> FromExecutorch(EtScalarType type);
EtScalarType ToExecutorch(ScalarType type);
// ExecuTorch's name, for messages: "Float8_e5m2".
std::string EtTypeName(EtScalarType type);

// True if the dimensions lie in memory as C has them.
bool IsCOrder(std::span<const uint8_t> dim_order);

// Copies elements from C order into `dim_order`, or back. `from` and `to` have `element` bytes for
// each element of `shape`.
enum class Direction : uint8_t { kFromCOrder, kToCOrder };
void Relayout(const std::byte* from, std::byte* to, std::span<const int64_t> shape,
              std::span<const uint8_t> dim_order, size_t element, Direction direction);

// Strides in elements of a densely packed tensor in `dim_order`.
std::vector<int32_t> StridesOf(std::span<const int32_t> sizes, std::span<const uint8_t> dim_order);

}  // namespace inferprobe::executorch_engine
