// numpy's .npy files: one array each, read into the contiguous tensors that engines take, and
// written for tests and for people who want a model's outputs.
//
//   auto tensor = npy::ReadNpy("image.npy");
//   if (!tensor) { /* tensor.error().message names the file and the byte */ }
//
// The rule that people break: numpy has no bfloat16. Such arrays are stored as uint16 or as two raw
// bytes ("V2"); both are read as kUint16, and whoever knows that the program wants bfloat16 says
// so.
#pragma once

#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "inferprobe/result.h"
#include "inferprobe/tensor.h"

namespace inferprobe::npy {

// Versions 1 to 3; bool, integers, floats and complex numbers of either byte order, C or Fortran
// order (the tensor is in C order and this machine's byte order).
Result<Tensor> ReadNpy(const std::string& path);

// The same from memory; `name` stands for the file in messages.
Result<Tensor> ParseNpy(std::string_view bytes, std::string_view name);

// Version 1, little endian, C order. bfloat16 becomes uint16, quantized types their integers;
// complex32 has no counterpart (kUnsupported).
Result<std::string> NpyBytes(const Tensor& tensor);
Result<void> WriteNpy(const std::string& path, const Tensor& tensor, base::Overwrite overwrite);

}  // namespace inferprobe::npy
