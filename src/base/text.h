// Text as people and files need it: UTF-8 repair, and figures with their units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inferprobe/result.h"

namespace inferprobe::base {

// Number of bytes of `text` that belong to no valid UTF-8 sequence (overlong forms, surrogates and
// code points above U+10FFFF are invalid).
size_t CountInvalidUtf8(std::string_view text);

struct RepairedText {
  std::string text;
  size_t bad_bytes = 0;
};
// Each bad byte becomes the four characters \xNN.
RepairedText RepairUtf8(std::string_view text);

// The text as it may be shown on a terminal: UTF-8, with control characters and direction marks
// as escapes (\n, \x1b, \u202e), so that a name can neither move the cursor nor reorder a table.
std::string TerminalText(std::string_view text);
// Bytes of an unknown file, for a message: ASCII as it is, everything else as \xNN.
std::string ShownBytes(std::string_view bytes);
// Columns that TerminalText's result takes (wide and combining characters counted roughly).
size_t DisplayWidth(std::string_view text);
// Cuts to `columns`, ending in "…" where something was cut.
std::string CutToWidth(std::string_view text, size_t columns);

std::string FormatDurationNs(double ns);  // "8.30 us", "195 us", "1.20 s": three digits
std::string FormatBytes(double bytes);    // "653 kB", "1.2 MB": decimal units
std::string FormatCount(double value);    // "5,050"
std::string FormatPercent(double ratio);  // "93.4 %"

// The error as one text, where there is no place for two: "message (hint)".
std::string ErrorLine(const Error& error);

// FNV-1a, for keys and table look-ups; not for content identity.
uint64_t HashText(std::string_view text);

}  // namespace inferprobe::base
