// The text header of a .npy file: a Python dict with three keys. Private to formats/npy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "inferprobe/tensor.h"

namespace inferprobe::npy {

struct NpyHeader {
  ScalarType type = ScalarType::kFloat32;
  bool swapped = false;  // the other byte order than this machine's
  size_t swap_unit = 1;  // bytes that are swapped together: half an element of a complex number
  bool fortran = false;
  std::vector<int64_t> shape;
};

// `text` starts at byte `offset` of the file `name`.
Result<NpyHeader> ParseNpyHeader(std::string_view text, size_t offset, std::string_view name);

}  // namespace inferprobe::npy
