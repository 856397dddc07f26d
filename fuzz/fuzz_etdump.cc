// ETDumps: read in one of three units of time, some delegates with a clock, then shown, converted.
#include <utility>

#include "aligned_bytes.h"
#include "formats/etdump/etdump_reader.h"
#include "profile/delegate_clock.h"
#include "use_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferprobe::fuzz::AlignedBytes bytes(data, size);
  static_cast<void>(inferprobe::etdump::LooksLikeEtdump(bytes.view()));
  inferprobe::profile::ReadOptions options;
  // By a byte in the middle, which the fuzzer can change without breaking the file.
  const uint8_t choice = size == 0 ? 0 : data[size / 2];
  if (choice % 3 == 1) options.input_unit_ns = 38.46;
  if (choice % 3 == 2) options.input_unit_ns = 1e9;
  if (choice % 2 == 1)
    options.delegate_clocks = {{"DELEGATE_CALL", choice % 5 == 0 ? 1e12 : 52.08}};
  auto recording = inferprobe::etdump::ParseEtdump(bytes.view(), "fuzz.etdp", options);
  if (recording) {
    // A clock for no delegate is an error, and leaves the recording as it was.
    static_cast<void>(
        inferprobe::profile::ApplyDelegateClocks(options.delegate_clocks, &*recording));
  }
  inferprobe::fuzz::UseRecording(std::move(recording));
  return 0;
}
