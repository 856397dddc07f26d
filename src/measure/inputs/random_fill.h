// Inputs for models that were given none: random, seeded, and the same on every machine and with
// every standard library (std's distributions are not).
//
// The rule that people break: the values are part of what was measured. Changing the generator
// changes every result that says "seed 0".
#pragma once

#include <cstdint>

#include "inferprobe/tensor.h"

namespace inferprobe::measure {

// Floats are uniform in [0, 1), as multiples of 2^-m where the type keeps m bits exactly (24 for
// float32); integers are uniform in {0, 1, 2, 3}, small enough to be indices of any vocabulary;
// bools are coin tosses. Input `index` of a model has its own stream.
Tensor RandomTensor(const TensorSpec& spec, uint64_t seed, uint64_t index);

}  // namespace inferprobe::measure
