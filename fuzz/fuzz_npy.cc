// numpy's .npy files: what is read is written, and reads back the same.
#include <cstdlib>
#include <string_view>

#include "formats/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferprobe;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto tensor = npy::ParseNpy(bytes, "fuzz.npy");
  if (!tensor) {
    if (tensor.error().message.empty()) std::abort();
    return 0;
  }
  auto written = npy::NpyBytes(*tensor);
  if (!written) std::abort();  // what numpy knows has a counterpart
  auto again = npy::ParseNpy(*written, "again.npy");
  if (!again || *npy::NpyBytes(*again) != *written) std::abort();
  return 0;
}
