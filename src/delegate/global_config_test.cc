#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "inferprobe/config.h"
#include "inferprobe/config_c.h"
#include "inferprobe/delegate.h"
#include "inferprobe/inferprobe.h"

namespace inferprobe {
namespace {

// The switch is the process's: each test leaves it off.
class GlobalConfig : public testing::Test {
 protected:
  void TearDown() override {
    ASSERT_TRUE(SetProfileExecution(false));
    ASSERT_TRUE(SetProfileFormat("etdump"));
  }
  base::TemporaryFolder folder_;
};

TEST_F(GlobalConfig, EachUpdateAdvancesTheGenerationByOne) {
  const uint64_t before = GlobalProfilingGeneration();
  ASSERT_TRUE(SetProfilePathPrefix(folder_.path()));
  EXPECT_EQ(GlobalProfilingGeneration(), before + 1);
  ASSERT_TRUE(SetProfileFormat("trex"));
  EXPECT_EQ(GlobalProfilingGeneration(), before + 2);
  ASSERT_TRUE(SetProfileExecution(true));
  EXPECT_EQ(GlobalProfilingGeneration(), before + 3);
  EXPECT_TRUE(GetProfileExecution());
  EXPECT_EQ(GetProfileFormat(), "trex");
  EXPECT_EQ(GetProfilePathPrefix(), folder_.path());
  const GlobalProfilingConfig all = GetGlobalProfilingConfig();
  EXPECT_TRUE(all.enabled);
  EXPECT_EQ(all.profile_format, "trex");
  EXPECT_EQ(all.profile_path_prefix, folder_.path());
  EXPECT_EQ(all.generation, before + 3);
  EXPECT_FALSE(all.overrides_methods);
  ASSERT_TRUE(SetProfileExecution(true, MethodOptions::kOverride));
  EXPECT_TRUE(GetGlobalProfilingConfig().overrides_methods);
}

TEST_F(GlobalConfig, EnginesAreListedAsLongAsTheyAreLoaded) {
  EXPECT_TRUE(GetProfiledEngines().empty());
  EXPECT_EQ(inferprobe_get_profile_engines(), 0U);
  const auto make = [](const char* method, bool given, bool follows) {
    DelegateOptions options;
    options.prefix = "double";
    options.engine = "Double";
    options.method = method;
    options.config.level_is_given = given;
    options.follows_process_wide = follows;
    return *DelegateProfiler::Create(std::move(options));
  };
  auto follows = make("a", false, true);
  auto own = make("b", true, true);
  auto cannot = make("c", false, false);
  const std::vector<ProfiledEngine> engines = GetProfiledEngines();
  ASSERT_EQ(engines.size(), 3U);
  EXPECT_EQ(engines[0].engine, "Double");
  EXPECT_EQ(engines[0].method, "a");
  EXPECT_EQ(engines[0].reach, SwitchReach::kFollows);
  EXPECT_EQ(engines[1].reach, SwitchReach::kOwnLevel);
  EXPECT_EQ(engines[2].reach, SwitchReach::kCannot);
  EXPECT_EQ(inferprobe_get_profile_engines(), 1U);
  ASSERT_EQ(inferprobe_set_profile_execution_override(0), 0);
  EXPECT_EQ(inferprobe_get_profile_engines(), 2U);
  ASSERT_TRUE(follows->Close());  // never again profiled, though it is there
  own.reset();
  EXPECT_EQ(GetProfiledEngines().size(), 1U);
}

TEST_F(GlobalConfig, InvalidValuesChangeNothing) {
  ASSERT_TRUE(SetProfilePathPrefix(folder_.path()));
  const GlobalProfilingConfig before = GetGlobalProfilingConfig();
  const auto format = SetProfileFormat("xml");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().message, "profile_format: \"xml\" is not one of etdump, perfetto, trex");
  const auto empty = SetProfilePathPrefix("");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "profile_path_prefix: \"\" is no folder");
  const auto nowhere = SetProfilePathPrefix("/nowhere/at/all");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message,
            "profile_path_prefix: \"/nowhere/at/all\": No such file or directory");
  const GlobalProfilingConfig after = GetGlobalProfilingConfig();
  EXPECT_EQ(after.generation, before.generation);
  EXPECT_EQ(after.profile_format, before.profile_format);
  EXPECT_EQ(after.profile_path_prefix, before.profile_path_prefix);
  EXPECT_EQ(after.enabled, before.enabled);
}

TEST_F(GlobalConfig, TheSameFromC) {
  const uint64_t before = inferprobe_get_profile_generation();
  EXPECT_EQ(inferprobe_set_profile_path_prefix(folder_.path().c_str()), INFERPROBE_OK);
  EXPECT_EQ(inferprobe_set_profile_format("perfetto"), INFERPROBE_OK);
  EXPECT_EQ(inferprobe_set_profile_execution(1), INFERPROBE_OK);
  EXPECT_EQ(inferprobe_get_profile_generation(), before + 3);
  EXPECT_EQ(inferprobe_get_profile_execution(), 1);
  EXPECT_STREQ(inferprobe_get_profile_format(), "perfetto");
  EXPECT_EQ(inferprobe_get_profile_path_prefix(), folder_.path());
  EXPECT_EQ(inferprobe_set_profile_format(nullptr), INFERPROBE_INVALID_ARGUMENT);
  EXPECT_STREQ(inferprobe_profile_error(),
               "profile_format: \"\" is not one of etdump, perfetto, trex");
  EXPECT_EQ(inferprobe_set_profile_path_prefix("/nowhere"), INFERPROBE_INVALID_ARGUMENT);
  EXPECT_EQ(inferprobe_get_profile_generation(), before + 3);
  EXPECT_EQ(inferprobe_set_profile_execution_override(1), INFERPROBE_OK);
  EXPECT_TRUE(GetGlobalProfilingConfig().overrides_methods);
}

TEST_F(GlobalConfig, WhatADelegateRefusedIsOfOneThreadAlsoFromC) {
  SetLastDelegateError({ErrorCode::kInvalidArgument, "openvino_profile_level: it is wrong", ""});
  EXPECT_STREQ(inferprobe_last_delegate_error(), "openvino_profile_level: it is wrong");
  std::thread([] { EXPECT_STREQ(inferprobe_last_delegate_error(), ""); }).join();
  ClearLastDelegateError();
  EXPECT_STREQ(inferprobe_last_delegate_error(), "");
}

// Whether it is on and whether it overrides are only ever set as a pair: a copy shows one of them.
TEST_F(GlobalConfig, ACopyIsNeverHalfChanged) {
  const uint64_t before = GlobalProfilingGeneration();
  constexpr uint64_t kUpdates = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t k = 0; k < kUpdates; ++k) {
        ASSERT_TRUE(SetProfileExecution((i + static_cast<int>(k)) % 2 == 0,
                                        (i + static_cast<int>(k)) % 2 == 0
                                            ? MethodOptions::kOverride
                                            : MethodOptions::kRespect));
      }
    });
    threads.emplace_back([&] {
      uint64_t last = 0;
      for (uint64_t k = 0; k < kUpdates; ++k) {
        const GlobalProfilingConfig copy = GetGlobalProfilingConfig();
        EXPECT_EQ(copy.enabled, copy.overrides_methods);
        EXPECT_GE(copy.generation, last);
        last = copy.generation;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(GlobalProfilingGeneration(), before + 8 * kUpdates);
}

}  // namespace
}  // namespace inferprobe
