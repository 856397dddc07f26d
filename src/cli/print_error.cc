#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
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

Result<void> PrintText(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return {};
  return MakeError(ErrorCode::kIo,
                   "cannot write to standard output: " + base::SystemErrorText(errno));
}

int PrintError(const Error& error) {
  // fputs, as fmt::print throws when standard error is gone.
  std::string text = fmt::format("inferprobe: {}\n", SafeLines(error.message));
  if (!error.hint.empty()) text += fmt::format("  {}\n", SafeLines(error.hint));
  std::fputs(text.c_str(), stderr);
  const bool usage =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kAlreadyExists;
  return usage ? kWrongUsage : kFailed;
}

}  // namespace inferprobe::cli
