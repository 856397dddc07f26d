#include "cli/progress_line.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace inferprobe::cli {
namespace {

constexpr const char* kClearLine = "\r\x1b[2K";

}  // namespace

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
  std::fputs((kClearLine + text).c_str(), stderr);
  std::fflush(stderr);
  dirty_ = true;
}

void ProgressLine::Clear() {
  if (!dirty_) return;
  std::fputs(kClearLine, stderr);
  std::fflush(stderr);
  dirty_ = false;
}

WaitingLine::WaitingLine(std::string what, bool shown) : what_(std::move(what)) {
  if (shown) thread_ = std::thread([this] { Run(); });
}

WaitingLine::~WaitingLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void WaitingLine::Run() {
  constexpr auto kQuiet = std::chrono::milliseconds(500);
  constexpr auto kStep = std::chrono::seconds(1);
  std::unique_lock lock(mutex_);
  const auto has_ended = [this] { return end_; };
  if (ended_.wait_for(lock, kQuiet, has_ended)) return;
  for (int seconds = 0; !end_; ++seconds) {
    std::string text = kClearLine + what_;
    if (seconds > 0) text += fmt::format(", {} s", seconds);
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    ended_.wait_for(lock, kStep, has_ended);
  }
  std::fputs(kClearLine, stderr);
  std::fflush(stderr);
}

}  // namespace inferprobe::cli
