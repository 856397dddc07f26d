#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace inferprobe::base {
namespace {

int FdOf(StandardStream stream) {
  return stream == StandardStream::kOutput ? STDOUT_FILENO : STDERR_FILENO;
}

}  // namespace

bool IsTerminal(StandardStream stream) { return isatty(FdOf(stream)) != 0; }

bool WantsColor(StandardStream stream) {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  return IsTerminal(stream) && term != nullptr && std::string_view(term) != "dumb" &&
         (no_color == nullptr || *no_color == '\0');
}

size_t TerminalWidth(size_t otherwise) {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

}  // namespace inferprobe::base
