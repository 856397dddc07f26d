#include <string>
#include <string_view>

#include "base/text.h"
#include "inferprobe/config.h"
#include "inferprobe/config_c.h"
#include "inferprobe/inferprobe.h"

namespace {

thread_local std::string t_error;
thread_local std::string t_delegate_error;
thread_local std::string t_format;
thread_local std::string t_folder;

int CodeOf(const inferprobe::Result<void>& result) {
  if (result) return INFERPROBE_OK;
  t_error = inferprobe::base::ErrorLine(result.error());
  return result.error().code == inferprobe::ErrorCode::kInvalidArgument
             ? INFERPROBE_INVALID_ARGUMENT
             : INFERPROBE_OTHER;
}

std::string_view TextOf(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

int inferprobe_set_profile_execution(int enabled) {
  return CodeOf(inferprobe::SetProfileExecution(enabled != 0));
}
int inferprobe_set_profile_execution_override(int enabled) {
  return CodeOf(
      inferprobe::SetProfileExecution(enabled != 0, inferprobe::MethodOptions::kOverride));
}
int inferprobe_set_profile_format(const char* format) {
  return CodeOf(inferprobe::SetProfileFormat(TextOf(format)));
}
int inferprobe_set_profile_path_prefix(const char* folder) {
  return CodeOf(inferprobe::SetProfilePathPrefix(TextOf(folder)));
}

int inferprobe_get_profile_execution(void) { return inferprobe::GetProfileExecution() ? 1 : 0; }
const char* inferprobe_get_profile_format(void) {
  t_format = inferprobe::GetProfileFormat();
  return t_format.c_str();
}
const char* inferprobe_get_profile_path_prefix(void) {
  t_folder = inferprobe::GetProfilePathPrefix();
  return t_folder.c_str();
}
uint64_t inferprobe_get_profile_generation(void) { return inferprobe::GlobalProfilingGeneration(); }

uint64_t inferprobe_get_profile_engines(void) {
  using inferprobe::SwitchReach;
  const bool overrides = inferprobe::GetGlobalProfilingConfig().overrides_methods;
  uint64_t reached = 0;
  for (const inferprobe::ProfiledEngine& engine : inferprobe::GetProfiledEngines()) {
    if (engine.reach == SwitchReach::kFollows) ++reached;
    if (engine.reach == SwitchReach::kOwnLevel && overrides) ++reached;
  }
  return reached;
}

const char* inferprobe_profile_error(void) { return t_error.c_str(); }

const char* inferprobe_last_delegate_error(void) {
  t_delegate_error = inferprobe::LastDelegateError();
  return t_delegate_error.c_str();
}
