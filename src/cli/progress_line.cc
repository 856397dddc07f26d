#include "cli/progress_line.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"

namespace inferprobe::cli {

void ProgressLine::Show(const measure::Progress& progress) {
  if (!progress.notice.empty()) {
    Clear();
    std::fputs(fmt::format("inferprobe: {}\n", progress.notice).c_str(), stderr);
    return;
  }
  if (!shown_) return;
  std::string text = fmt::format("{}", progress.phase);
  if (progress.processes > 1) {
    text += fmt::format(", process {} of {}", progress.process + 1, progress.processes);
  }
  if (progress.total != 0) {
    text += fmt::format(": {} of {} runs", base::FormatCount(static_cast<double>(progress.done)),
                        base::FormatCount(static_cast<double>(progress.total)));
  } else if (progress.done != 0) {
    text += fmt::format(": {} runs, {:.1f} s",
                        base::FormatCount(static_cast<double>(progress.done)), progress.seconds);
  }
  std::fputs(("\r\x1b[2K" + text).c_str(), stderr);
  std::fflush(stderr);
  dirty_ = true;
}

void ProgressLine::Clear() {
  if (!dirty_) return;
  std::fputs("\r\x1b[2K", stderr);
  std::fflush(stderr);
  dirty_ = false;
}

}  // namespace inferprobe::cli
