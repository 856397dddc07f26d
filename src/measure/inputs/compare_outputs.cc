#include "measure/inputs/compare_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace inferprobe::measure {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const double fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

// The real type of a complex one's halves; the type itself otherwise.
ScalarType HalfType(ScalarType type) {
  switch (type) {
    case ScalarType::kComplexFloat32:
      return ScalarType::kFloat16;
    case ScalarType::kComplexFloat64:
      return ScalarType::kFloat32;
    case ScalarType::kComplexFloat128:
      return ScalarType::kFloat64;
    default:
      return type;
  }
}

double ValueAt(ScalarType type, const std::byte* at) {
  switch (type) {
    case ScalarType::kFloat16:
      return HalfValue(Load<uint16_t>(at));
    case ScalarType::kBfloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(at)) << 16);
    case ScalarType::kFloat32:
      return Load<float>(at);
    case ScalarType::kFloat64:
      return Load<double>(at);
    default:
      return 0;
  }
}

bool Near(double actual, double expected, Tolerance tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::abs(expected);
}

// "" if `actual` is near enough to `expected`, of the same type and shape.
std::string Difference(const Tensor& actual, const Tensor& expected,
                       std::optional<double>* max_error) {
  const ScalarType real = HalfType(expected.type);
  const Tolerance tolerance = ToleranceOf(expected.type);
  const size_t size = ScalarTypeSize(real);
  if (tolerance.absolute == 0) {
    for (size_t at = 0; at < expected.data.size(); at += size) {
      if (std::memcmp(&actual.data[at], &expected.data[at], size) != 0) {
        return fmt::format("element {} differs", at / size);
      }
    }
    return {};
  }
  std::string first;
  for (size_t at = 0; at < expected.data.size(); at += size) {
    const double a = ValueAt(real, &actual.data[at]);
    const double e = ValueAt(real, &expected.data[at]);
    const double error = std::abs(a - e);
    if (std::isfinite(error)) *max_error = std::max(max_error->value_or(0), error);
    if (first.empty() && !Near(a, e, tolerance)) {
      first = fmt::format("element {} is {:.6g}, {:.6g} was expected (tolerance {:g} + {:g} * |x|)",
                          at / size, a, e, tolerance.absolute, tolerance.relative);
    }
  }
  return first;
}

}  // namespace

Tolerance ToleranceOf(ScalarType type) {
  switch (HalfType(type)) {
    case ScalarType::kFloat64:
      return {1e-7, 1e-9};
    case ScalarType::kFloat32:
      return {1e-3, 1e-4};
    case ScalarType::kFloat16:
      return {1e-2, 1e-3};
    case ScalarType::kBfloat16:
      return {5e-2, 1e-2};
    default:
      return {0, 0};
  }
}

OutputComparison CompareOutputs(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& expected) {
  OutputComparison result;
  if (outputs.size() != expected.size()) {
    result.match = false;
    result.text = fmt::format("{} outputs, {} were expected", outputs.size(), expected.size());
    return result;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string difference;
    if (outputs[i].type != expected[i].type || outputs[i].shape != expected[i].shape) {
      difference =
          fmt::format("is {}, {} was expected", SpecText(outputs[i].type, outputs[i].shape),
                      SpecText(expected[i].type, expected[i].shape));
    } else if (outputs[i].data.size() != expected[i].data.size()) {
      difference = "has another number of bytes than expected";
    } else {
      difference = Difference(outputs[i], expected[i], &result.max_abs_error);
    }
    if (!difference.empty() && result.match) {
      result.match = false;
      result.text = fmt::format("output {}: {}", i, difference);
    }
  }
  if (result.match) result.text = fmt::format("{} outputs within tolerance", outputs.size());
  return result;
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type == y.type && x.shape == y.shape && x.data == y.data;
  });
}

}  // namespace inferprobe::measure
