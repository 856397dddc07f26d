#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "delegate/profiler_test_support.h"
#include "inferprobe/delegate.h"

namespace inferprobe::delegate {
namespace {

// The process-wide switch, and engines that no option reaches.
class Switch : public testing::Test {
 protected:
  void TearDown() override {
    ASSERT_TRUE(SetProfileExecution(false));
    ASSERT_TRUE(SetProfileFormat("etdump"));
  }
  static std::unique_ptr<DelegateProfiler> Unreached(DoubleEngine* engine) {
    DelegateOptions options = Options(engine, ProfileLevel::kOff);
    options.config.level_is_given = false;
    return Made(std::move(options));
  }
  base::TemporaryFolder folder_;
  RecordingSink sink_;
  float state_ = 0;
};

TEST_F(Switch, IsTakenUpAtTheNextCallAndLeftAtTheNext) {
  DoubleEngine engine;
  const auto profiler = Unreached(&engine);
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_TRUE(sink_.events.empty());
  ASSERT_TRUE(SetProfileExecution(true));
  EXPECT_EQ(engine.attached, 0U);  // lazily
  for (int i = 0; i < 3; ++i) engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(engine.attached, 1U);
  ASSERT_NE(sink_.Find("conv"), nullptr);
  EXPECT_NE(sink_.Find("double.delegate")
                ->metadata.find(R"("config":"process-wide, generation )" +
                                std::to_string(GlobalProfilingGeneration()) + "\""),
            std::string::npos);
  ASSERT_TRUE(SetProfileExecution(false));
  sink_.events.clear();
  for (int i = 0; i < 2; ++i) engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Names(), "double.apply_config");
  EXPECT_EQ(engine.detached, 1U);
}

TEST_F(Switch, WorksForEnginesThatAreLoadedAfterIt) {
  ASSERT_TRUE(SetProfileExecution(true));
  DoubleEngine engine;
  const auto profiler = Unreached(&engine);
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_NE(sink_.Find("conv"), nullptr);
}

TEST_F(Switch, RespectsAMethodsOwnLevelUnlessTold) {
  DoubleEngine engine;
  const auto profiler = Made(Options(&engine, ProfileLevel::kDelegate));
  ASSERT_TRUE(SetProfileExecution(true));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Names(), "double.delegate");
  EXPECT_EQ(sink_.events[0].metadata.find("config"), std::string::npos);
  ASSERT_TRUE(SetProfileExecution(true, MethodOptions::kOverride));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_NE(sink_.Find("conv"), nullptr);
  ASSERT_TRUE(SetProfileExecution(false));
  sink_.events.clear();
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Names(), "double.apply_config double.delegate");  // its own level again
}

TEST_F(Switch, WaitsForWhatIsInFlightBeforeItAttaches) {
  DoubleEngine engine;
  const auto profiler = Unreached(&engine);
  engine.Execute(profiler.get(), &sink_, Way::kAsynchronous, &state_);
  ASSERT_TRUE(SetProfileExecution(true));
  engine.Execute(profiler.get(), &sink_, Way::kAsynchronous, &state_);
  EXPECT_EQ(engine.attached, 1U);
  EXPECT_FALSE(engine.attached_in_flight);
}

TEST_F(Switch, WritesAFileForEachPartOfAnEngine) {
  ASSERT_TRUE(SetProfilePathPrefix(folder_.path()));
  for (const char* format : {"trex", "perfetto"}) {
    ASSERT_TRUE(SetProfileFormat(format));
    ASSERT_TRUE(SetProfileExecution(true));
    DoubleEngine engine;
    const auto profiler = Unreached(&engine);
    engine.Execute(profiler.get(), nullptr, Way::kStaged, &state_);
    const std::string base = profiler->engine_id();
    ASSERT_TRUE(SetProfileExecution(false));
    engine.Execute(profiler.get(), nullptr, Way::kStaged, &state_);  // takes it up: writes
    const std::string ext = std::string(format) == "trex" ? ".json" : ".pftrace";
    for (const char* part : {".engine", ".input", ".output", ".enqueue"}) {
      EXPECT_TRUE(base::FileExists(folder_.File(base + part + ext))) << part << ext;
    }
  }
}

TEST_F(Switch, OnAgainItWritesFilesOfItsOwn) {
  ASSERT_TRUE(SetProfilePathPrefix(folder_.path()));
  ASSERT_TRUE(SetProfileFormat("trex"));
  DoubleEngine engine;
  const auto profiler = Unreached(&engine);
  for (const int calls : {2, 3}) {
    ASSERT_TRUE(SetProfileExecution(true));
    for (int i = 0; i < calls; ++i) {
      engine.Execute(profiler.get(), nullptr, Way::kBlocking, &state_);
    }
    ASSERT_TRUE(SetProfileExecution(false));
    engine.Execute(profiler.get(), nullptr, Way::kBlocking, &state_);
  }
  const std::string id = profiler->engine_id();
  EXPECT_EQ(ReadTrex(folder_.File(id + ".engine.json")).count, 2U);
  EXPECT_EQ(ReadTrex(folder_.File(id + ".window2.engine.json")).count, 3U);
}

TEST_F(Switch, AFolderIsTheOneThatItWasWhenItWasSet) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  ASSERT_TRUE(SetProfilePathPrefix("."));
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::equivalent(GetProfilePathPrefix(), folder_.path()));
}

TEST_F(Switch, WhatGoesWrongInACallIsLogged) {
  static std::string logged;
  logged.clear();
  DoubleEngine engine;
  engine.fail_attach = true;
  DelegateOptions options = Options(&engine, ProfileLevel::kOff);
  options.config.level_is_given = false;
  options.log = [](const char* message) { logged = message; };
  const auto profiler = Made(std::move(options));
  ASSERT_TRUE(SetProfileExecution(true));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(logged, "the double refuses");
}

TEST_F(Switch, AnOwnersRefusedWishIsForgotten) {
  DoubleEngine engine;
  engine.fail_attach = true;
  const auto profiler = Unreached(&engine);
  EXPECT_FALSE(profiler->EnableProfiling(true));
  engine.fail_attach = false;
  ASSERT_TRUE(profiler->SetProfileFormat("etdump"));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_TRUE(sink_.events.empty());
}

TEST_F(Switch, DecidesAgainWhenTheOwnerHasNoWishAnyMore) {
  DoubleEngine engine;
  const auto profiler = Unreached(&engine);
  ASSERT_TRUE(SetProfileExecution(true));
  ASSERT_TRUE(profiler->EnableProfiling(true));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Find("double.delegate")->metadata.find("config"), std::string::npos);
  sink_.events.clear();
  ASSERT_TRUE(profiler->EnableProfiling(false));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_NE(sink_.Find("double.delegate")->metadata.find("config"), std::string::npos);
}

TEST_F(Switch, AnEngineThatCannotFollowStaysAsItWas) {
  DoubleEngine engine;
  engine.fail_attach = true;
  const auto profiler = Unreached(&engine);
  ASSERT_TRUE(SetProfileExecution(true));
  ClearLastDelegateError();
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Names(), "double.apply_config");
  EXPECT_EQ(LastDelegateError(), "the double refuses");
}

TEST_F(Switch, AnUnmodifiedEngineDoesNotFollow) {
  DoubleEngine engine;
  DelegateOptions options = Options(&engine, ProfileLevel::kDelegate);
  options.follows_process_wide = false;
  const auto profiler = Made(std::move(options));
  ASSERT_TRUE(SetProfileExecution(true, MethodOptions::kOverride));
  engine.Execute(profiler.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_EQ(sink_.Names(), "double.delegate");
}

TEST_F(Switch, AnOwnerCanSwitchOneEngineAlone) {
  DoubleEngine one;
  DoubleEngine other;
  const auto first = Unreached(&one);
  const auto second = Unreached(&other);
  ASSERT_TRUE(first->EnableProfiling(true));
  one.Execute(first.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_NE(sink_.Find("conv"), nullptr);
  sink_.events.clear();
  other.Execute(second.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_TRUE(sink_.events.empty());
  const auto refused = first->SetProfileFormat("xml");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "double_profile_format: \"xml\" is not one of etdump, perfetto, trex");
  const auto no_folder = first->SetProfileFormat("trex");
  ASSERT_FALSE(no_folder);
  ASSERT_TRUE(first->EnableProfiling(false));
  one.Execute(first.get(), &sink_, Way::kBlocking, &state_);
  EXPECT_TRUE(sink_.events.empty());
}

// 16 threads change the switch while 16 execute, each its own engine: a call is at level off or at
// level layers, never at something in between, and each engine is attached as often as detached.
TEST_F(Switch, ConcurrentChangesNeverShowAHalfAppliedOne) {
  constexpr int kThreads = 16;
  constexpr int kRounds = 60;
  std::vector<DoubleEngine> engines(kThreads);
  std::vector<std::unique_ptr<DelegateProfiler>> profilers;
  for (DoubleEngine& engine : engines) profilers.push_back(Unreached(&engine));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const auto at = static_cast<size_t>(i);
    threads.emplace_back([i] {
      for (int k = 0; k < kRounds; ++k) {
        ASSERT_TRUE(SetProfileExecution((i + k) % 2 == 0));
      }
    });
    threads.emplace_back([&, at] {
      float state = 0;
      for (int k = 0; k < kRounds; ++k) {
        RecordingSink sink;
        engines[at].Execute(profilers[at].get(), &sink, Way::kStaged, &state);
        const bool all = sink.Find("conv") != nullptr && sink.Find("double.delegate") != nullptr;
        const std::string names = sink.Names();
        EXPECT_TRUE(all || names.empty() || names == "double.apply_config") << names;
      }
      EXPECT_EQ(state, kRounds);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < engines.size(); ++i) {
    profilers[i].reset();
    EXPECT_LE(engines[i].attached - engines[i].detached, 1U);
  }
}

// One engine, called from several threads in turn: its lock is the call's.
TEST_F(Switch, OneEngineIsCalledByOneThreadAtATime) {
  DoubleEngine engine;
  const auto profiler = Made(Options(&engine, ProfileLevel::kLayers));
  float state = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        RecordingSink sink;
        engine.Execute(profiler.get(), &sink, Way::kStaged, &state);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(state, 200);
  EXPECT_EQ(engine.attached, 1U);
}

}  // namespace
}  // namespace inferprobe::delegate
