// Reads an ETDump, of ExecuTorch's ETDumpGen or of ours, into the model. Docs:
// docs/formats/etdump.md.
//
//   auto recording = etdump::ReadEtdump("run.etdp", options);
//
// The rule that people break: an ETDump says neither what a tick is nor whose clock a delegate
// used. Host times are taken as nanoseconds, or as options.input_unit_ns says; a delegate whose
// times do not lie in its calls has a clock of its own, and its track is in ticks.
#pragma once

#include <string>
#include <string_view>

#include "formats/etdump/etdump_walk.h"
#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::etdump {

// Needs 32 bytes an event, and what the distinct names take.
Result<profile::Recording> ReadEtdump(const std::string& path, const profile::ReadOptions& options);
// The same of bytes in memory, on an address that 8 divides; `name` stands in errors.
Result<profile::Recording> ParseEtdump(std::string_view bytes, const std::string& name,
                                       const profile::ReadOptions& options);

}  // namespace inferprobe::etdump
