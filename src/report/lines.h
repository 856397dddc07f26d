// Lines "label      text" of a report. Texts come from the outside and are made safe here.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace inferprobe::report {

// "1 run", "5,050 runs".
inline std::string Counted(uint64_t n, std::string_view one) {
  return fmt::format("{} {}{}", base::FormatCount(static_cast<double>(n)), one, n == 1 ? "" : "s");
}

class Lines {
 public:
  explicit Lines(bool color) : color_(color) {}

  void Add(std::string_view label, std::string_view text) {
    out_ += fmt::format("{:<10} {}\n", label, base::TerminalText(text));
  }
  void AddWarning(std::string_view label, std::string_view text) {
    out_ += fmt::format("{}{:<10}{} {}\n", color_ ? "\x1b[33m" : "", label, color_ ? "\x1b[0m" : "",
                        base::TerminalText(text));
  }
  void Block(std::string_view text) { out_ += text; }
  std::string Take() { return std::move(out_); }

 private:
  bool color_;
  std::string out_;
};

}  // namespace inferprobe::report
