// From what the user said (--input, --shape, --seed) to the tensors that a model is run with, or to
// an error that says what the model expects.
//
//   auto inputs = ResolveInputs(engine.inputs(), {{"image=cat.npy"}, {}, 0});
//   if (!inputs) { /* "input 0 \"image\" is f32[1,3,64,64]; cat.npy holds u8[64,64,3]" */ }
//
// The rule that people break: nothing is converted on the way. A float64 array for a float32 input
// is an error, because a converted input is not the input that the user gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inferprobe/result.h"
#include "inferprobe/tensor.h"

namespace inferprobe::measure {

struct InputRequest {
  std::vector<std::string> inputs;  // "name=file.npy", "0=file.npy" or "file.npy" in order
  std::vector<std::string> shapes;  // "name=1x3x224x224", "0=..." or, for a single input, "1x3x..."
  uint64_t seed = 0;                // for the inputs that no file is given for
};

struct ResolvedInputs {
  std::vector<Tensor> tensors;
  std::vector<std::string> sources;  // "seed 0", "cat.npy", "fixed by the program"
};

Result<ResolvedInputs> ResolveInputs(const std::vector<TensorSpec>& specs,
                                     const InputRequest& request);

// Count, types and shapes of `tensors` are those of `specs`; a dynamic extent is at most its bound.
Result<void> CheckInputs(const std::vector<TensorSpec>& specs, const std::vector<Tensor>& tensors);

}  // namespace inferprobe::measure

// A caller that resolves inputs also compares what comes out.
#include "measure/inputs/compare_outputs.h"  // IWYU pragma: export
