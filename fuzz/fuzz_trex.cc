// TREX profiles and their metadata: read, printed, converted; what is written must read back the
// same.
#include <cstdlib>
#include <string_view>

#include "formats/trex/reader.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferprobe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  trex::LooksLikeProfile(text, size);
  if (auto metadata = trex::ParseMetadata(text, "fuzz.json")) {
    const std::string written = trex::WriteMetadata(*metadata);
    const auto again = trex::ParseMetadata(written, "written.json");
    if (!again || trex::WriteMetadata(*again) != written) abort();
  }
  profile::LossCounts losses;
  auto layers = trex::ParseProfile(text, "fuzz.json", &losses);
  if (!layers) {
    fuzz::CheckError(layers.error());
    return 0;
  }
  // One reading makes whole nanoseconds of it; from then on it stays the same.
  const std::string written = trex::WriteProfile(*layers);
  const auto again = trex::ParseProfile(written, "written.json", &losses);
  if (!again || trex::WriteProfile(*again) != written) abort();
  fuzz::UseRecording(trex::RecordingOf(*layers, nullptr, "fuzz.json"));
  return 0;
}
