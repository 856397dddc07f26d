// Tensors as they cross the border between a caller and an engine: contiguous, host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/api.h"

namespace inferprobe {

enum class ScalarType : uint8_t {
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBool,
  kBfloat16,
  kUint16,
  kUint32,
  kUint64,
  kComplexFloat32,   // two float16
  kComplexFloat64,   // two float32
  kComplexFloat128,  // two float64
  kQint8,
  kQuint8,
  kQint32,
};

// numpy's name where numpy has the type, torch's where it has not ("bfloat16").
INFERPROBE_API const char* ScalarTypeName(ScalarType type);
// Bytes of one element.
INFERPROBE_API size_t ScalarTypeSize(ScalarType type);

// What an engine takes or gives at one position. A scalar argument of a program (an int, double or
// bool that is no tensor) has `is_scalar` and shape {}.
struct TensorSpec {
  std::string name;  // may be empty: then it is addressed by its index
  ScalarType type = ScalarType::kFloat32;
  std::vector<int64_t> shape;  // upper bound where `dynamic`
  bool dynamic = false;
  bool is_scalar = false;
  // Not empty: the program was specialised to this value, and takes no other.
  std::vector<std::byte> fixed_value;
};

// "f32[1,3,128,128]"-like text, as shown to people.
INFERPROBE_API std::string SpecText(ScalarType type, const std::vector<int64_t>& shape);

struct Tensor {
  ScalarType type = ScalarType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  bool is_scalar = false;
};

// Number of elements; 1 for shape {}.
INFERPROBE_API int64_t ElementCount(const std::vector<int64_t>& shape);

}  // namespace inferprobe
