// How much is seen of a delegate's inside, where it is written, and who decides.
//
//   inferprobe::SetProfilePathPrefix("profiles");          // a folder that exists
//   inferprobe::SetProfileFormat("trex");
//   inferprobe::SetProfileExecution(true);                 // engines take it up at their next call
//
// A method that is loaded has settings of its own: a load-time option, else the compile spec that
// the program carries, else off. The switches above are for engines that no one can reach: one for
// the whole process, stored in no file.
//
// The rule that people break: the process-wide switch leaves a method alone that was given a level
// of its own. It overrides that only with SetProfileExecution(true, kOverrideMethods).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"

namespace inferprobe {

// Cumulative.
enum class ProfileLevel : uint8_t {
  kOff,       // nothing: no event, no callback, no allocation, no file
  kDelegate,  // one event for each call of the delegate
  kPhases,    // and its host phases: binding, enqueue, wait, ...
  kLayers,    // and the engine's layers, where the engine can report them
};
INFERPROBE_API const char* ProfileLevelName(ProfileLevel level);  // "phases"
// `key` names the setting in the error, which lists what is allowed.
INFERPROBE_API Result<ProfileLevel> ParseProfileLevel(const std::string& key,
                                                      std::string_view value);

// Where layers go. Calls and phases always go to the runtime's tracer, or to the recorder.
enum class ProfileFormat : uint8_t {
  kEtdump,    // to ExecuTorch's tracer, or to the recorder where there is none
  kPerfetto,  // sidecar `....trace.pftrace`: calls, phases and layers
  kTrex,      // sidecars `....layers.json` and `....trace.json`
};
INFERPROBE_API const char* ProfileFormatName(ProfileFormat format);  // "etdump"
INFERPROBE_API Result<ProfileFormat> ParseProfileFormat(const std::string& key,
                                                        std::string_view value);

struct ProfileConfig {
  ProfileLevel level = ProfileLevel::kOff;
  ProfileFormat format = ProfileFormat::kEtdump;
  std::string path_prefix;  // folder of sidecars
  std::string model;        // names the sidecars; "": "model"
  bool overwrite = false;   // sidecars that exist are replaced
  bool level_is_given =
      false;  // by an option or a compile spec: the process-wide switch respects it
};

// The settings as they were written, for each key that was given.
struct ProfileSettings {
  std::optional<std::string> level{};        // <prefix>_profile_level
  std::optional<std::string> format{};       // <prefix>_profile_format
  std::optional<std::string> path_prefix{};  // <prefix>_profile_path_prefix
  std::optional<std::string> model{};        // <prefix>_profile_model
  std::optional<bool> overwrite{};           // <prefix>_profile_overwrite
};

// What cannot be had in a certain place.
struct ProfilePlace {
  bool in_program = true;  // a delegate of a .pte; false: an engine that no tracer reaches
  bool has_tracer = true;  // false: built without ET_EVENT_TRACER_ENABLED
};

// Key by key: `runtime`, else `compiled`, else off. The error names the key, the value that was
// given and those that are allowed.
INFERPROBE_API Result<ProfileConfig> ResolveProfileConfig(std::string_view prefix,
                                                          const ProfileSettings& runtime,
                                                          const ProfileSettings& compiled,
                                                          const ProfilePlace& place = {});

// The process-wide switch.
struct GlobalProfilingConfig {
  bool enabled = false;  // level `layers` for every engine that follows it
  std::string profile_format = "etdump";
  std::string profile_path_prefix;
  uint64_t generation = 0;  // updates so far
  bool overrides_methods = false;
};

enum class MethodOptions : uint8_t { kRespect, kOverride };

// Each validates, updates and advances the generation by one; a refused value changes nothing.
INFERPROBE_API Result<void> SetProfileExecution(bool enabled,
                                                MethodOptions of_methods = MethodOptions::kRespect);
INFERPROBE_API Result<void> SetProfileFormat(std::string_view format);
INFERPROBE_API Result<void> SetProfilePathPrefix(std::string_view folder);

INFERPROBE_API bool GetProfileExecution();
INFERPROBE_API std::string GetProfileFormat();
INFERPROBE_API std::string GetProfilePathPrefix();
INFERPROBE_API GlobalProfilingConfig GetGlobalProfilingConfig();  // one consistent copy
INFERPROBE_API uint64_t GlobalProfilingGeneration();              // one load

// Whether the switch decides an engine's level.
enum class SwitchReach : uint8_t {
  kFollows,
  kOwnLevel,  // it was given one of its own: only MethodOptions::kOverride reaches it
  kCannot,    // nothing can be attached to it
};
struct ProfiledEngine {
  std::string prefix;   // of its events: "openvino"
  std::string engine;   // "OpenVINO"
  std::string version;  // of the engine; may be empty
  std::string method;
  SwitchReach reach = SwitchReach::kFollows;
};
// Engines on the kit that are loaded in this process now, in the order of their loading. Empty: the
// switch reaches none yet; one that is loaded later takes it up.
INFERPROBE_API std::vector<ProfiledEngine> GetProfiledEngines();

// ExecuTorch passes on a code alone when a delegate cannot be loaded. What the kit found wrong last
// on this thread, with key, value and what is allowed; "" if nothing was.
INFERPROBE_API const std::string& LastDelegateError();
INFERPROBE_API void SetLastDelegateError(const Error& error);
INFERPROBE_API void ClearLastDelegateError();

}  // namespace inferprobe
