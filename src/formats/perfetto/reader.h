// Reads a Perfetto trace: our own come back as they were recorded, of others the slices and
// counters of their track events. Docs: docs/formats/perfetto.md.
//
//   if (perfetto::LooksLikeTrace(head, file_bytes)) recording = perfetto::ReadTrace(path, options);
//
// The rule that people break: a trace is read as far as it goes. Only what is no trace at all is an
// error; whatever is missing from one is counted in Profile::losses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::perfetto {

// Whether a file that starts with `head` is a Perfetto trace, by its content. 4 kB are enough.
bool LooksLikeTrace(std::string_view head, uint64_t file_bytes);

// options.delegate_clocks is the caller's to apply (profile/delegate_clock.h).
Result<profile::Recording> ReadTrace(const std::string& path, const profile::ReadOptions& options);

// The same from memory; `path` is for messages.
Result<profile::Recording> ReadTraceBytes(std::string_view bytes, const std::string& path,
                                          const profile::ReadOptions& options);

}  // namespace inferprobe::perfetto
