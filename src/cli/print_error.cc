#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"

namespace inferprobe::cli {
namespace {

// Many-line messages (an engine's log) keep their lines, indented; everything else is made safe for
// a terminal.
std::string SafeLines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += base::TerminalText(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (!text.empty()) out += "\n  ";
  }
  return out;
}

}  // namespace

int PrintError(const Error& error) {
  fmt::print(stderr, "inferprobe: {}\n", SafeLines(error.message));
  if (!error.hint.empty()) fmt::print(stderr, "  {}\n", SafeLines(error.hint));
  const bool usage =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kAlreadyExists;
  return usage ? kWrongUsage : kFailed;
}

}  // namespace inferprobe::cli
