// Result JSON: read, printed, and written so that it reads back the same.
#include <string_view>

#include "formats/result_json/result_reader.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferprobe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  result_json::LooksLikeResult(text, size);
  auto result = result_json::ParseResult(text, "fuzz.json");
  if (result) {
    fuzz::UseResult(*result);
  } else {
    fuzz::CheckError(result.error());
  }
  return 0;
}
