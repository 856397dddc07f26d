#include "inferprobe/config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "inferprobe/recorder.h"

namespace inferprobe {
namespace {

struct Precedence {
  const char* what;
  ProfileSettings runtime;
  ProfileSettings compiled;
  ProfileLevel level;
  bool given;
};

TEST(ResolveProfileConfig, OptionsOverrideSpecsAndSpecsGiveDefaults) {
  const std::vector<Precedence> cases = {
      {"nothing", {}, {}, ProfileLevel::kOff, false},
      {"spec", {}, {.level = "phases"}, ProfileLevel::kPhases, true},
      {"option", {.level = "delegate"}, {}, ProfileLevel::kDelegate, true},
      {"both", {.level = "off"}, {.level = "layers"}, ProfileLevel::kOff, true},
      {"both, the other way", {.level = "layers"}, {.level = "off"}, ProfileLevel::kLayers, true},
  };
  for (const Precedence& it : cases) {
    const auto config = ResolveProfileConfig("openvino", it.runtime, it.compiled);
    ASSERT_TRUE(config) << it.what;
    EXPECT_EQ(config->level, it.level) << it.what;
    EXPECT_EQ(config->level_is_given, it.given) << it.what;
  }
}

TEST(ResolveProfileConfig, IsDecidedKeyByKey) {
  const base::TemporaryFolder folder;
  const auto config = ResolveProfileConfig(
      "openvino", {.level = "layers", .path_prefix = folder.path()},
      {.level = "off", .format = "trex", .path_prefix = "/nowhere", .model = "net"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->level, ProfileLevel::kLayers);
  EXPECT_EQ(config->format, ProfileFormat::kTrex);
  EXPECT_EQ(config->path_prefix, folder.path());
  EXPECT_EQ(config->model, "net");
}

struct Refusal {
  ProfileSettings settings;
  ProfilePlace place;
  const char* message;
};

TEST(ResolveProfileConfig, RefusalsNameKeyValueAndWhatIsAllowed) {
  const std::vector<Refusal> cases = {
      {{.level = "verbose"},
       {},
       "openvino_profile_level: \"verbose\" is not one of off, delegate, phases, layers"},
      {{.level = ""},
       {},
       "openvino_profile_level: \"\" is not one of off, delegate, phases, layers"},
      {{.level = "Layers"},
       {},
       "openvino_profile_level: \"Layers\" is not one of off, delegate, phases, layers"},
      {{.level = "layers", .format = "xml"},
       {},
       "openvino_profile_format: \"xml\" is not one of etdump, perfetto, trex"},
      {{.level = "off", .format = "xml"},
       {},
       "openvino_profile_format: \"xml\" is not one of etdump, perfetto, trex"},
      {{.level = "layers", .format = "trex"},
       {},
       "openvino_profile_format: \"trex\" writes files, and openvino_profile_path_prefix is not "
       "given"},
      {{.level = "phases", .format = "perfetto"},
       {},
       "openvino_profile_format: \"perfetto\" writes files, and openvino_profile_path_prefix is "
       "not "
       "given"},
      {{.level = "layers", .format = "trex", .path_prefix = ""},
       {},
       "openvino_profile_path_prefix: \"\" is no folder"},
      {{.level = "layers", .format = "trex", .path_prefix = "/nowhere/at/all"},
       {},
       "openvino_profile_path_prefix: \"/nowhere/at/all\": No such file or directory"},
      {{.level = "layers", .format = "trex", .path_prefix = "/etc/passwd"},
       {},
       "openvino_profile_path_prefix: \"/etc/passwd\": Not a directory"},
      {{.level = "layers"},
       {.in_program = false},
       "openvino_profile_format: \"etdump\" is for a delegate of a .pte, and this engine is in "
       "none"},
      {{.level = "layers"},
       {.has_tracer = false},
       "openvino_profile_format: \"etdump\" has nowhere to go: this build has no event tracer "
       "(ET_EVENT_TRACER_ENABLED is off), and no recorder runs"},
      {{.level = "a\nb"},
       {},
       "openvino_profile_level: \"a\\nb\" is not one of off, delegate, phases, layers"},
  };
  for (const Refusal& it : cases) {
    const auto config = ResolveProfileConfig("openvino", it.settings, {}, it.place);
    ASSERT_FALSE(config) << it.message;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(config.error().message, it.message);
  }
}

TEST(ResolveProfileConfig, AFolderThatMayNotBeWrittenIsRefused) {
  const base::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
  const base::WithoutRoot nobody;
  const auto config = ResolveProfileConfig(
      "openvino", {.level = "layers", .format = "trex", .path_prefix = folder.path()}, {});
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("Permission denied"), std::string::npos);
}

TEST(ResolveProfileConfig, WithoutATracerARecorderTakesLayers) {
  auto recorder = Recorder::Start({.events_per_thread = 256, .max_threads = 1});
  ASSERT_TRUE(recorder);
  EXPECT_TRUE(ResolveProfileConfig("openvino", {.level = "layers"}, {}, {.has_tracer = false}));
}

}  // namespace
}  // namespace inferprobe
