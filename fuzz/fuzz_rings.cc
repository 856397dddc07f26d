// The mapped rings of a process that was killed: read, shown, converted.
#include "aligned_bytes.h"
#include "profile/ring_import.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferprobe::fuzz::AlignedBytes bytes(data, size);
  inferprobe::fuzz::UseRecording(inferprobe::profile::ReadMappedBytes(bytes.view(), "fuzz.ring"));
  return 0;
}
