// The file formats that inferprobe reads and writes, each in one line of a table. What a file is,
// is decided by its content; what is to be written, by the name's ending or by the user.
//
//   auto format = formats::FormatOfFile(path);          // "what is this?"
//   auto opened = formats::OpenFile(path, options);     // a recording or a finished result
//
// The rule that people break: a name proves nothing. A Perfetto trace called run.json is a Perfetto
// trace.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "inferprobe/result.h"
#include "profile/recording.h"
#include "profile/result.h"

namespace inferprobe::formats {

// A trace, which has yet to be analysed, or a result, which holds figures and no slices.
struct Opened {
  std::optional<profile::Recording> recording;
  std::optional<profile::PerfResult> result;
};

struct Format {
  std::string_view name;   // "etdump"
  std::string_view title;  // "ETDump"
  // Of files that are written: ".etdp"; the first is the usual one, none: it cannot be written.
  std::array<std::string_view, 2> suffixes;
  bool (*recognise)(std::string_view head, uint64_t bytes);
  Result<Opened> (*read)(const std::string& path, const profile::ReadOptions& options);

  [[nodiscard]] constexpr bool IsWritten() const { return !suffixes[0].empty(); }
};

std::span<const Format> Formats();
// Among those that can be written: by its name, or by how the file's name ends.
const Format* FormatByName(std::string_view name);
const Format* FormatBySuffix(std::string_view path);
// "etdump, perfetto, json": what FormatByName knows.
std::string WritableNames();

Result<const Format*> FormatOfFile(const std::string& path);
// Reads it, applies options.delegate_clocks, and gives runs to a recording that has none. Also too
// little memory is an error.
Result<Opened> OpenFile(const std::string& path, const profile::ReadOptions& options);

// The figures of either: those of a result, or what a recording's analysis gives. A result has no
// place for counters: the recording's samples are counted (`not_in_format`).
profile::PerfResult FiguresOf(Opened opened);

}  // namespace inferprobe::formats
