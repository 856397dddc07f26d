// A value as an error shows it.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace inferprobe::delegate {

// Settings come out of files: control characters and megabytes do not belong into a message.
inline std::string Quoted(std::string_view value) {
  constexpr size_t kShown = 80;
  const bool cut = value.size() > kShown;
  return "\"" + base::TerminalText(std::string(value.substr(0, kShown))) + (cut ? "...\"" : "\"");
}

}  // namespace inferprobe::delegate
