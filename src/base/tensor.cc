#include "inferprobe/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace inferprobe {
namespace {
struct TypeWords {
  const char* name;
  const char* brief;
  size_t size;
};
TypeWords WordsOf(ScalarType type) {
  switch (type) {
    case ScalarType::kUint8:
      return {"uint8", "u8", 1};
    case ScalarType::kInt8:
      return {"int8", "i8", 1};
    case ScalarType::kInt16:
      return {"int16", "i16", 2};
    case ScalarType::kInt32:
      return {"int32", "i32", 4};
    case ScalarType::kInt64:
      return {"int64", "i64", 8};
    case ScalarType::kFloat16:
      return {"float16", "f16", 2};
    case ScalarType::kFloat32:
      return {"float32", "f32", 4};
    case ScalarType::kFloat64:
      return {"float64", "f64", 8};
    case ScalarType::kBool:
      return {"bool", "bool", 1};
    case ScalarType::kBfloat16:
      return {"bfloat16", "bf16", 2};
    case ScalarType::kUint16:
      return {"uint16", "u16", 2};
    case ScalarType::kUint32:
      return {"uint32", "u32", 4};
    case ScalarType::kUint64:
      return {"uint64", "u64", 8};
    case ScalarType::kComplexFloat32:
      return {"complex32", "c32", 4};
    case ScalarType::kComplexFloat64:
      return {"complex64", "c64", 8};
    case ScalarType::kComplexFloat128:
      return {"complex128", "c128", 16};
    case ScalarType::kQint8:
      return {"qint8", "qi8", 1};
    case ScalarType::kQuint8:
      return {"quint8", "qu8", 1};
    case ScalarType::kQint32:
      return {"qint32", "qi32", 4};
  }
  return {"unknown", "?", 1};
}
}  // namespace

const char* ScalarTypeName(ScalarType type) { return WordsOf(type).name; }
size_t ScalarTypeSize(ScalarType type) { return WordsOf(type).size; }

std::string SpecText(ScalarType type, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", WordsOf(type).brief, fmt::join(shape, ","));
}

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace inferprobe
