#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace inferprobe::base {
namespace {

// Length of the valid sequence that starts at `i`, 0 if there is none.
size_t SequenceLength(std::string_view text, size_t i) {
  const auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = at(i);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint32_t code = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2;
    code = lead & 0x1F;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3;
    code = lead & 0x0F;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4;
    code = lead & 0x07;
  } else {
    return 0;
  }
  if (i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((at(i + k) & 0xC0) != 0x80) return 0;
    code = code << 6 | (at(i + k) & 0x3F);
  }
  constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
  return length;
}

uint32_t CodePoint(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]);
  uint32_t code = static_cast<unsigned char>(sequence[0]) & (0xFFU >> (sequence.size() + 1));
  for (size_t k = 1; k < sequence.size(); ++k) {
    code = code << 6 | (static_cast<unsigned char>(sequence[k]) & 0x3F);
  }
  return code;
}

bool MovesText(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||        // C0, DEL, C1
         (code >= 0x200B && code <= 0x200F) ||                  // zero width, LRM, RLM
         (code >= 0x2028 && code <= 0x202E) ||                  // separators, embeddings
         (code >= 0x2060 && code <= 0x2069) || code == 0xFEFF;  // joiners, isolates, BOM
}

size_t ColumnsOf(uint32_t code) {
  if (code >= 0x0300 && code <= 0x036F) return 0;  // combining marks
  const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                    (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                    (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                    (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Three significant digits, without an exponent.
std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  if (size >= 100 || value == 0) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

}  // namespace

size_t CountInvalidUtf8(std::string_view text) {
  size_t bad = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    bad += length == 0 ? 1 : 0;
    i += length == 0 ? 1 : length;
  }
  return bad;
}

RepairedText RepairUtf8(std::string_view text) {
  RepairedText result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) {
      result.text += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[i]));
      ++result.bad_bytes;
      ++i;
    } else {
      result.text += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

std::string TerminalText(std::string_view text) {
  const std::string repaired = RepairUtf8(text).text;
  std::string out;
  for (size_t i = 0; i < repaired.size();) {
    const size_t length = SequenceLength(repaired, i);
    const std::string_view sequence = std::string_view(repaired).substr(i, length);
    const uint32_t code = CodePoint(sequence);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code == '\r') {
      out += "\\r";
    } else if (MovesText(code)) {
      out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    } else {
      out += sequence;
    }
    i += length;
  }
  return out;
}

std::string ShownBytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += value >= 0x20 && value < 0x7F ? std::string(1, byte) : fmt::format("\\x{:02x}", value);
  }
  return out;
}

size_t DisplayWidth(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    columns += length == 0 ? 1 : ColumnsOf(CodePoint(text.substr(i, length)));
    i += length == 0 ? 1 : length;
  }
  return columns;
}

std::string CutToWidth(std::string_view text, size_t columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  size_t used = 0;
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = std::max<size_t>(SequenceLength(text, i), 1);
    const size_t width = ColumnsOf(CodePoint(text.substr(i, length)));
    if (used + width + 1 > columns) break;
    used += width;
    i += length;
  }
  return std::string(text.substr(0, i)) + "…";
}

std::string FormatDurationNs(double ns) {
  const double size = std::fabs(ns);
  if (size < 999.5) return ThreeDigits(ns) + " ns";
  if (size < 999.5e3) return ThreeDigits(ns / 1e3) + " us";
  if (size < 999.5e6) return ThreeDigits(ns / 1e6) + " ms";
  return ThreeDigits(ns / 1e9) + " s";
}

std::string FormatBytes(double bytes) {
  const double size = std::fabs(bytes);
  if (size < 999.5) return fmt::format("{:.0f} B", bytes);
  if (size < 999.5e3) return ThreeDigits(bytes / 1e3) + " kB";
  if (size < 999.5e6) return ThreeDigits(bytes / 1e6) + " MB";
  return ThreeDigits(bytes / 1e9) + " GB";
}

std::string FormatCount(double value) {
  std::string digits = fmt::format("{:.0f}", std::fabs(value));
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return (value < 0 && digits != "0" ? "-" : "") + digits;
}

std::string FormatPercent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::string ErrorLine(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
}

uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace inferprobe::base
