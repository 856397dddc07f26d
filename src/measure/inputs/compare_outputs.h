// Whether a model's outputs are the expected ones. Kernels add in different orders on different
// CPUs, so floats are compared within a tolerance; everything else, bit for bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inferprobe/tensor.h"

namespace inferprobe::measure {

// |actual - expected| <= absolute + relative * |expected|. Both 0: bit for bit.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
// float64 1e-7 / 1e-9, float32 1e-3 / 1e-4, float16 1e-2 / 1e-3, bfloat16 5e-2 / 1e-2 (complex
// numbers as their halves), 0 / 0 for the rest.
Tolerance ToleranceOf(ScalarType type);

struct OutputComparison {
  bool match = true;
  std::string text;                     // the first difference, or "2 outputs within tolerance"
  std::optional<double> max_abs_error;  // over all floats; none if there are none
};
OutputComparison CompareOutputs(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& expected);

// Same count, types, shapes and bytes.
bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace inferprobe::measure
