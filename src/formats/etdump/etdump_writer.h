// Writes the profiled runs of a profile as an ETDump, the file that ExecuTorch's own ETDumpGen
// writes and executorch.devtools.Inspector reads: a size-prefixed flatbuffer "ED00", version 0.
//
//   auto written = etdump::WriteEtdump(profile, "run.etdp", base::Overwrite::kRefuse);
//
// Docs: docs/formats/etdump.md.
//
// The rule that people break: events stand in the order of their ends, a delegate's operators
// before the call that they belong to. Inspector takes runs together only when their events are
// the same in the same order.
#pragma once

#include <cstdint>
#include <string>

#include "base/atomic_file.h"
#include "inferprobe/result.h"
#include "profile/model.h"

namespace inferprobe::etdump {

// A flatbuffer's offsets are signed 32-bit numbers.
constexpr uint64_t kMaxBytes = (uint64_t{1} << 31) - 1;

// Needs about 100 bytes an event in memory. More than `max_bytes`: kUnsupported. Names that are no
// UTF-8 are repaired (Inspector would refuse the whole file), and counted in `losses`, if given,
// once each. A run that lost events says so in its block's name (see block_name.h).
Result<void> WriteEtdump(const profile::Profile& profile, const std::string& path,
                         base::Overwrite overwrite, profile::LossCounts* losses = nullptr,
                         uint64_t max_bytes = kMaxBytes);

}  // namespace inferprobe::etdump
