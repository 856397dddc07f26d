// The process-wide switch. Setters are rare and take a lock; engines look at the generation alone,
// once a call, and copy the rest only when it has changed.
#include <atomic>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "delegate/check_config.h"
#include "delegate/quoted.h"
#include "inferprobe/config.h"

namespace inferprobe {
namespace {

struct Switch {
  std::mutex mutex;
  GlobalProfilingConfig config;
};

// Apart, and there before main(): engines look at it in each call.
constinit std::atomic<uint64_t> g_generation{0};

// Never destroyed: engines may outlive main().
Switch& TheSwitch() {
  static auto* it = new Switch;
  return *it;
}

// Changes a copy, and takes it over if it fits together.
template <typename Change>
Result<void> Update(const Change& change) {
  Switch& it = TheSwitch();
  const std::lock_guard lock(it.mutex);
  GlobalProfilingConfig next = it.config;
  change(next);
  if (next.enabled && next.profile_format != "etdump" && next.profile_path_prefix.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "profile_format: \"" + next.profile_format +
                         "\" writes files, and profile_path_prefix is not set",
                     "set the path prefix first, to a folder that exists");
  }
  ++next.generation;
  it.config = std::move(next);
  // Release: who sees the new number finds the new settings behind the lock.
  g_generation.store(it.config.generation, std::memory_order_release);
  return {};
}

}  // namespace

Result<void> SetProfileExecution(bool enabled, MethodOptions of_methods) {
  return Update([&](GlobalProfilingConfig& config) {
    config.enabled = enabled;
    config.overrides_methods = of_methods == MethodOptions::kOverride;
  });
}

Result<void> SetProfileFormat(std::string_view format) {
  auto chosen = ParseProfileFormat("profile_format", format);
  if (!chosen) return tl::unexpected(chosen.error());
  return Update([&](GlobalProfilingConfig& config) { config.profile_format = format; });
}

Result<void> SetProfilePathPrefix(std::string_view folder) {
  INFERPROBE_RETURN_IF_ERROR(delegate::CheckFolder("profile_path_prefix", folder));
  const std::string absolute = delegate::AbsoluteFolder(folder);
  return Update([&](GlobalProfilingConfig& config) { config.profile_path_prefix = absolute; });
}

GlobalProfilingConfig GetGlobalProfilingConfig() {
  Switch& it = TheSwitch();
  const std::lock_guard lock(it.mutex);
  return it.config;
}

bool GetProfileExecution() { return GetGlobalProfilingConfig().enabled; }
std::string GetProfileFormat() { return GetGlobalProfilingConfig().profile_format; }
std::string GetProfilePathPrefix() { return GetGlobalProfilingConfig().profile_path_prefix; }

uint64_t GlobalProfilingGeneration() { return g_generation.load(std::memory_order_acquire); }

namespace {
thread_local std::string t_last_error;
}  // namespace

const std::string& LastDelegateError() { return t_last_error; }
void SetLastDelegateError(const Error& error) { t_last_error = base::ErrorLine(error); }
void ClearLastDelegateError() { t_last_error.clear(); }

}  // namespace inferprobe
