// ETDumps: read, shown, converted.
#include "aligned_bytes.h"
#include "formats/etdump/etdump_reader.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferprobe::fuzz::AlignedBytes bytes(data, size);
  inferprobe::fuzz::UseRecording(inferprobe::etdump::ParseEtdump(bytes.view(), "fuzz.etdp", {}));
  return 0;
}
