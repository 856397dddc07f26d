// Perfetto traces: read, shown, converted.
#include "aligned_bytes.h"
#include "formats/perfetto/reader.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferprobe;
  const fuzz::AlignedBytes bytes(data, size);
  perfetto::LooksLikeTrace(bytes.view(), size);
  fuzz::UseRecording(perfetto::ReadTraceBytes(bytes.view(), "fuzz.pftrace", {}));
  return 0;
}
