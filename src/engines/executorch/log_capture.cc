#include "engines/executorch/log_capture.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace inferprobe::executorch_engine {
namespace {

// Enough for the messages of one failure; a broken program can produce one per value.
constexpr size_t kMaxBytes = 2048;

struct Log {
  std::mutex mutex;
  std::array<char, kMaxBytes> text{};
  size_t used = 0;
  bool cut = false;

  void Append(std::string_view message) {
    while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) {
      message.remove_suffix(1);
    }
    if (message.empty()) return;
    const size_t separator = used == 0 ? 0 : 2;
    if (used + separator + message.size() > text.size()) {
      cut = true;
      return;
    }
    if (separator != 0) {
      text[used++] = ';';
      text[used++] = ' ';
    }
    used += message.copy(text.data() + used, message.size());
  }
};

// Never destroyed: the runtime may log from static destructors.
Log& TheLog() {
  static Log* log = new Log;
  return *log;
}

void Emit(et_timestamp_t /*timestamp*/, et_pal_log_level_t level, const char* /*file*/,
          const char* /*function*/, size_t /*line*/, const char* message, size_t length) {
  if (level != kError && level != kFatal) return;
  Log& log = TheLog();
  const std::scoped_lock lock(log.mutex);
  log.Append({message, length});
}

// The runtime aborts where it finds itself broken. The process is lost then, but not the reason.
void Abort() {
  constexpr std::string_view kPrefix = "ExecuTorch aborted: ";
  Log& log = TheLog();
  // Not locked: the aborting thread may hold the lock, and nothing will be written any more.
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, kPrefix.data(), kPrefix.size());
  ignored = write(STDERR_FILENO, log.text.data(), log.used);
  ignored = write(STDERR_FILENO, "\n", 1);
  std::abort();
}

}  // namespace

void InstallLogCapture() {
  static const bool installed = [] {
    executorch::runtime::runtime_init();
    auto hooks = executorch::runtime::PalImpl::create(
        /*init=*/nullptr, Abort, /*current_ticks=*/nullptr, /*ticks_to_ns_multiplier=*/nullptr,
        Emit, /*allocate=*/nullptr, /*free=*/nullptr, __FILE__);
    return executorch::runtime::register_pal(hooks);
  }();
  static_cast<void>(installed);
}

void ClearLog() {
  Log& log = TheLog();
  const std::scoped_lock lock(log.mutex);
  log.used = 0;
  log.cut = false;
}

std::string TakeLog() {
  Log& log = TheLog();
  const std::scoped_lock lock(log.mutex);
  std::string text(log.text.data(), log.used);
  if (log.cut) text += "; ...";
  log.used = 0;
  log.cut = false;
  return text;
}

}  // namespace inferprobe::executorch_engine
