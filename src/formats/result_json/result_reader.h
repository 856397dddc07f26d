// Reads back what WriteResultJson wrote: docs/formats/result.md.
//
//   auto result = ReadResult("result.json");
//   if (!result) return tl::unexpected(result.error());
//   report::PerfText(*result, {});  // what `perf` printed
//
// The rule that people break: an error names the file, the byte, the field, what was expected and
// what was found. Nothing is guessed: only fields that nobody knows are left out, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inferprobe/result.h"
#include "profile/result.h"

namespace inferprobe::result_json {

// Whether a file that begins so is a result: a JSON object with schema_version among its first
// keys. `head`: its first bytes, some kB; `file_bytes`: its size.
bool LooksLikeResult(std::string_view head, uint64_t file_bytes);

Result<profile::PerfResult> ReadResult(const std::string& path);
// The same of a text in memory; `name` stands in errors.
Result<profile::PerfResult> ParseResult(std::string_view text, const std::string& name);

}  // namespace inferprobe::result_json
