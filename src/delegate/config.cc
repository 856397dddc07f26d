// Settings of one loaded method: from what was written to what holds, or an error in full.
#include "inferprobe/config.h"

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"
#include "delegate/check_config.h"
#include "delegate/quoted.h"
#include "inferprobe/scope.h"

namespace inferprobe {
namespace {

constexpr std::array<const char*, 4> kLevels = {"off", "delegate", "phases", "layers"};
constexpr std::array<const char*, 3> kFormats = {"etdump", "perfetto", "trex"};

template <size_t N>
std::string ListOf(const std::array<const char*, N>& names) {
  std::string list;
  for (const char* name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

template <typename T, size_t N>
Result<T> Choose(const std::array<const char*, N>& names, const std::string& key,
                 std::string_view value) {
  for (size_t i = 0; i < N; ++i) {
    if (value == names[i]) return static_cast<T>(i);
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   key + ": " + delegate::Quoted(value) + " is not one of " + ListOf(names));
}

}  // namespace

namespace delegate {

Result<void> CheckConfig(std::string_view prefix, const ProfileConfig& config,
                         const ProfilePlace& place) {
  if (config.level == ProfileLevel::kOff) return {};
  const std::string keys = std::string(prefix) + "_profile_";
  const std::string format = ProfileFormatName(config.format);
  if (config.format == ProfileFormat::kEtdump) {
    if (config.level != ProfileLevel::kLayers) return {};
    if (!place.in_program) {
      return MakeError(ErrorCode::kInvalidArgument,
                       keys +
                           "format: \"etdump\" is for a delegate of a .pte, and this engine is "
                           "in none",
                       "use \"perfetto\" or \"trex\", with " + keys + "path_prefix");
    }
    if (!place.has_tracer && !Recording()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       keys +
                           "format: \"etdump\" has nowhere to go: this build has no event tracer "
                           "(ET_EVENT_TRACER_ENABLED is off), and no recorder runs",
                       "use \"perfetto\" or \"trex\", with " + keys +
                           "path_prefix, or start a recorder before the method is loaded");
    }
    return {};
  }
  if (config.path_prefix.empty()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        keys + "format: \"" + format + "\" writes files, and " + keys + "path_prefix is not given",
        "give a folder that exists");
  }
  return CheckFolder(keys + "path_prefix", config.path_prefix);
}

Result<void> CheckFolder(const std::string& key, std::string_view folder) {
  if (folder.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, key + ": \"\" is no folder",
                     "give a folder that exists");
  }
  if (folder.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidArgument,
                     key + ": " + Quoted(folder) + " holds a zero byte");
  }
  if (const int error = base::WhyFolderNotWritable(std::string(folder)); error != 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     key + ": " + Quoted(folder) + ": " + base::SystemErrorText(error),
                     "give a folder that exists and may be written to");
  }
  return {};
}

std::string AbsoluteFolder(std::string_view folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(std::string(folder), error);
  return error ? std::string(folder) : path.string();
}

}  // namespace delegate

const char* ProfileLevelName(ProfileLevel level) { return kLevels[static_cast<size_t>(level)]; }
const char* ProfileFormatName(ProfileFormat format) {
  return kFormats[static_cast<size_t>(format)];
}
Result<ProfileLevel> ParseProfileLevel(const std::string& key, std::string_view value) {
  return Choose<ProfileLevel>(kLevels, key, value);
}
Result<ProfileFormat> ParseProfileFormat(const std::string& key, std::string_view value) {
  return Choose<ProfileFormat>(kFormats, key, value);
}

Result<ProfileConfig> ResolveProfileConfig(std::string_view prefix, const ProfileSettings& runtime,
                                           const ProfileSettings& compiled,
                                           const ProfilePlace& place) {
  const std::string keys = std::string(prefix) + "_profile_";
  ProfileConfig config;
  if (const auto& level = runtime.level ? runtime.level : compiled.level) {
    auto chosen = ParseProfileLevel(keys + "level", *level);
    if (!chosen) return tl::unexpected(chosen.error());
    config.level = *chosen;
    config.level_is_given = true;
  }
  if (const auto& format = runtime.format ? runtime.format : compiled.format) {
    auto chosen = ParseProfileFormat(keys + "format", *format);
    if (!chosen) return tl::unexpected(chosen.error());
    config.format = *chosen;
  }
  if (const auto& folder = runtime.path_prefix ? runtime.path_prefix : compiled.path_prefix) {
    INFERPROBE_RETURN_IF_ERROR(delegate::CheckFolder(keys + "path_prefix", *folder));
    config.path_prefix = delegate::AbsoluteFolder(*folder);
  }
  if (const auto& model = runtime.model ? runtime.model : compiled.model) config.model = *model;
  config.overwrite = runtime.overwrite.value_or(compiled.overwrite.value_or(false));
  INFERPROBE_RETURN_IF_ERROR(delegate::CheckConfig(prefix, config, place));
  return config;
}

}  // namespace inferprobe
