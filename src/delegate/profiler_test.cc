#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "delegate/profiler_test_support.h"
#include "inferprobe/delegate.h"
#include "inferprobe/recorder.h"
#include "profile/delegate_note.h"
#include "profile/ring_import.h"

namespace inferprobe::delegate {
namespace {

struct AtLevel {
  ProfileLevel level;
  Way way;
  const char* names;
};

TEST(DelegateProfiler, EachLevelHasExactlyItsEvents) {
  constexpr const char* kBlocking =
      "double.delegate double.input_binding double.shape_inference double.output_binding "
      "double.infer_host";
  constexpr const char* kStaged =
      "double.delegate double.input_binding double.shape_inference double.output_binding "
      "double.enqueue_host double.synchronize double.device double.output_staging";
  constexpr const char* kAsynchronous =
      "double.delegate double.input_binding double.shape_inference double.output_binding "
      "double.enqueue_host";
  const std::vector<AtLevel> cases = {
      {ProfileLevel::kOff, Way::kBlocking, ""},
      {ProfileLevel::kDelegate, Way::kBlocking, "double.delegate"},
      {ProfileLevel::kPhases, Way::kBlocking, kBlocking},
      {ProfileLevel::kPhases, Way::kStaged, kStaged},
      {ProfileLevel::kPhases, Way::kAsynchronous, kAsynchronous},
  };
  for (const AtLevel& it : cases) {
    DoubleEngine engine;
    RecordingSink sink;
    float state = 0;
    const auto profiler = Made(Options(&engine, it.level));
    engine.Execute(profiler.get(), &sink, it.way, &state);
    EXPECT_EQ(sink.Names(), it.names);
    for (const RecordingSink::Event& event : sink.events) {
      EXPECT_EQ(event.depth, event.name == "double.delegate" ? 0U : 1U) << event.name;
    }
  }
}

TEST(DelegateProfiler, AtLayersTheEnginesOwnFollowTheCall) {
  DoubleEngine engine;
  RecordingSink sink;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kLayers));
  engine.Execute(profiler.get(), &sink, Way::kBlocking, &state);
  const RecordingSink::Event* conv = sink.Find("conv");
  const RecordingSink::Event* relu = sink.Find("relu");
  ASSERT_NE(conv, nullptr);
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(conv->metadata, R"({"kind":"engine_reported","type":"Convolution","exec":"jit"})");
  EXPECT_EQ(relu->metadata, R"({"kind":"engine_reported","type":"Relu"})");
  EXPECT_EQ(conv->end - conv->start, 3000U);
  EXPECT_EQ(relu->start, conv->end);
  EXPECT_EQ(conv->depth, 0U);
  EXPECT_EQ(sink.Find("double.layer_report")->metadata,
            R"({"kind":"host_wall","calls":1,"unit_ns":1,"covered":1})");
}

TEST(DelegateProfiler, TheCallSaysWhatItsTimeIs) {
  const std::vector<std::pair<Way, const char*>> cases = {
      {Way::kBlocking, R"({"kind":"host_wall","mode":"blocking"})"},
      {Way::kStaged,
       R"({"kind":"host_wall","mode":"synchronized","engine":"0123456789abcdef-ID","call":1})"},
      {Way::kAsynchronous,
       R"({"kind":"host_wall","mode":"asynchronous","engine":"0123456789abcdef-ID","call":1})"},
  };
  for (const auto& [way, expected] : cases) {
    DoubleEngine engine;
    RecordingSink sink;
    float state = 0;
    const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
    engine.Execute(profiler.get(), &sink, way, &state);
    std::string metadata = expected;
    if (const size_t at = metadata.find("0123456789abcdef-ID"); at != std::string::npos) {
      metadata.replace(at, 19, profiler->engine_id());
    }
    EXPECT_EQ(sink.Find("double.delegate")->metadata, metadata);
  }
}

TEST(DelegateProfiler, ACallThatFailsIsClosedAndMarked) {
  DoubleEngine engine;
  RecordingSink sink;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  {
    DelegateCall call(profiler.get(), &sink);
    call.BeginPhase(Phase::kInputBinding);
  }
  EXPECT_EQ(sink.Find("double.delegate")->metadata, R"({"kind":"host_wall","failed":true})");
  EXPECT_EQ(sink.Find("double.input_binding")->metadata, R"({"kind":"host_wall"})");
}

// Counted, not timed: whatever the level, the device sees the same.
TEST(DelegateProfiler, NoLevelAddsASynchronizationOrChangesAnOutput) {
  for (const Way way : {Way::kBlocking, Way::kStaged, Way::kAsynchronous}) {
    std::set<uint64_t> synchronizations;
    std::set<float> outputs;
    for (const ProfileLevel level : {ProfileLevel::kOff, ProfileLevel::kDelegate,
                                     ProfileLevel::kPhases, ProfileLevel::kLayers}) {
      DoubleEngine engine;
      RecordingSink sink;
      float state = 0;  // the caller's, updated in place
      const auto profiler = Made(Options(&engine, level));
      for (int i = 0; i < 5; ++i) engine.Execute(profiler.get(), &sink, way, &state);
      synchronizations.insert(engine.synchronizations);
      EXPECT_EQ(engine.executed, 5U);
      EXPECT_EQ(engine.attached, level == ProfileLevel::kLayers ? 1U : 0U);
      if (level == ProfileLevel::kOff) {
        EXPECT_TRUE(sink.events.empty());
        EXPECT_EQ(engine.idle_waits, 0U);
        EXPECT_EQ(profiler->engine_id(), "");
      }
      static_cast<void>(profiler->Close());
      engine.WaitUntilIdle();
      outputs.insert(state);
    }
    EXPECT_EQ(synchronizations.size(), 1U);
    EXPECT_EQ(outputs, std::set<float>{5});
  }
}

TEST(DelegateProfiler, ALateDeviceResultIsBookedToItsOwnCall) {
  DoubleEngine engine;
  RecordingSink first;
  RecordingSink second;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  engine.Execute(profiler.get(), &first, Way::kAsynchronous, &state);
  EXPECT_EQ(first.Find("double.device"), nullptr);
  engine.Execute(profiler.get(), &second, Way::kAsynchronous, &state);
  const RecordingSink::Event* device = second.Find("double.device");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->metadata, R"({"kind":"device","clock":"double event","engine":")" +
                                  profiler->engine_id() + R"(","call":1})");
  EXPECT_EQ(device->end - device->start, 100U);
  EXPECT_EQ(profiler->stats().device_results, 1U);
  // The engine's last wait, at its end, is one too.
  ASSERT_TRUE(profiler->Close());
  EXPECT_EQ(profiler->stats().device_results, 2U);
  EXPECT_EQ(profiler->stats().device_missing, 0U);
}

// Nobody's tracer is there at the end; the recorder is, and the result has its place in time.
TEST(DelegateProfiler, TheLastDeviceResultGoesToTheRecorderAtTheTimeOfTheEnd) {
  auto recorder = Recorder::Start({.events_per_thread = 1024, .max_threads = 2});
  ASSERT_TRUE(recorder);
  DoubleEngine engine;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  engine.Execute(profiler.get(), nullptr, Way::kAsynchronous, &state);
  const int64_t before_ns = Clock().ToNs(NowTicks());
  ASSERT_TRUE(profiler->Close());
  int64_t device_start_ns = 0;
  for (const RecordedScope& scope : recorder->Drain().scopes) {
    if (scope.name == "double.device") device_start_ns = scope.start_ns;
  }
  EXPECT_GE(device_start_ns, before_ns);
}

TEST(DelegateProfiler, AResultThatNeverComesIsMissingWithTheReason) {
  DoubleEngine engine;
  engine.lose_device_events = true;
  RecordingSink sink;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  for (int i = 0; i < 2; ++i) engine.Execute(profiler.get(), &sink, Way::kStaged, &state);
  ASSERT_TRUE(profiler->Close());
  EXPECT_EQ(profiler->stats().device_results, 0U);
  EXPECT_EQ(profiler->stats().device_missing, 2U);
  EXPECT_EQ(profiler->stats().device_missing_why,
            "the device never told it, up to the engine's last wait");
}

// The call in which that is learned says so, in a trace of any tracer.
TEST(DelegateProfiler, ACallTellsWhyADevicesResultIsLost) {
  DoubleEngine engine;
  RecordingSink failing;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  engine.fail_device_events = true;
  engine.Execute(profiler.get(), &failing, Way::kStaged, &state);
  ASSERT_NE(failing.Find("double.delegate"), nullptr);
  EXPECT_TRUE(failing.Find("double.delegate")
                  ->metadata.ends_with(R"("call":1,"device_missing":"the double has no time"})"))
      << failing.Find("double.delegate")->metadata;

  // Eight pairs, of which none is ever done: the ninth call finds none.
  engine.fail_device_events = false;
  engine.lose_device_events = true;
  std::vector<std::string> said;
  for (int i = 0; i < 9; ++i) {
    RecordingSink sink;
    engine.Execute(profiler.get(), &sink, Way::kAsynchronous, &state);
    const std::string& metadata = sink.Find("double.delegate")->metadata;
    const size_t at = metadata.find("device_missing");
    said.push_back(at == std::string::npos ? "" : metadata.substr(at));
  }
  std::vector<std::string> expected(9);
  expected[8] = R"(device_missing":"all pairs of device events were in flight"})";
  EXPECT_EQ(said, expected);
}

TEST(DelegateProfiler, ClosedItCannotBeChanged) {
  DoubleEngine engine;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  ASSERT_TRUE(profiler->Close());
  EXPECT_FALSE(profiler->EnableProfiling(true));
  EXPECT_FALSE(profiler->SetProfileFormat("etdump"));
  EXPECT_EQ(engine.attached, 0U);
}

TEST(DelegateProfiler, ClosingWaitsForWhatIsInFlight) {
  DoubleEngine engine;
  RecordingSink sink;
  float state = 0;
  {
    const auto profiler = Made(Options(&engine, ProfileLevel::kLayers));
    engine.Execute(profiler.get(), &sink, Way::kAsynchronous, &state);
    EXPECT_EQ(engine.synchronizations, 0U);  // in flight, on its own thread
  }
  EXPECT_EQ(engine.synchronizations, 1U);
  EXPECT_EQ(state, 1);
  EXPECT_EQ(engine.attached, 1U);
}

TEST(DelegateProfiler, AnIdentityOfALoadThatFailedIsGivenAgain) {
  DoubleEngine engine;
  engine.fail_attach = true;
  DelegateOptions options = Options(&engine, ProfileLevel::kLayers);
  options.content_hash = "dddddddddddddddd";
  EXPECT_FALSE(DelegateProfiler::Create(options));
  engine.fail_attach = false;
  EXPECT_EQ(Made(std::move(options))->engine_id(), "dddddddddddddddd-0");
}

TEST(DelegateProfiler, WhatSomebodyElseNamedCannotBreakTheMetadata) {
  DoubleEngine engine;
  RecordingSink sink;
  float state = 0;
  DelegateOptions options = Options(&engine, ProfileLevel::kPhases);
  options.content_hash = "a\"b\\c\n" + std::string(500, 'x');
  const auto profiler = Made(std::move(options));
  engine.Execute(profiler.get(), &sink, Way::kStaged, &state);
  for (const RecordingSink::Event& event : sink.events) {
    EXPECT_TRUE(profile::ParseDelegateNote(event.metadata)) << event.metadata;
  }
}

TEST(DelegateProfiler, APhaseThatIsOpenEndsWhereTheNextBegins) {
  DoubleEngine engine;
  RecordingSink sink;
  const auto profiler = Made(Options(&engine, ProfileLevel::kPhases));
  {
    DelegateCall call(profiler.get(), &sink);
    call.BeginPhase(Phase::kInputBinding);
    call.BeginPhase(Phase::kOutputBinding);
    call.EndPhase();
    call.Finish(CallMode::kBlocking);
  }
  for (const RecordingSink::Event& event : sink.events) EXPECT_NE(event.metadata, "") << event.name;
  EXPECT_EQ(sink.Find("double.output_binding")->depth, 1U);
}

TEST(DelegateProfiler, WhatCannotBeAttachedLeavesNothing) {
  DoubleEngine engine;
  engine.fail_attach = true;
  const auto refused = DelegateProfiler::Create(Options(&engine, ProfileLevel::kLayers));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the double refuses");
  EXPECT_EQ(engine.attached, 0U);
}

// Without a tracer, with a recorder: the same events, in the same order.
TEST(DelegateProfiler, WithoutATracerTheRecorderHasTheEvents) {
  auto recorder = Recorder::Start({.events_per_thread = 1024, .max_threads = 2});
  ASSERT_TRUE(recorder);
  DoubleEngine engine;
  float state = 0;
  const auto profiler = Made(Options(&engine, ProfileLevel::kLayers));
  engine.Execute(profiler.get(), nullptr, Way::kBlocking, &state);

  profile::Profile profile;
  profile::RingImporter importer(&profile, 0);
  importer.Attach(*record::BlockReader::Open(
      {static_cast<const std::byte*>(recorder->memory()), recorder->memory_bytes()}, "test",
      record::BlockReader::Access::kConsume));
  importer.Drain();
  std::vector<std::string> seen;
  for (const profile::Slice& slice : profile.slices) {
    ASSERT_NE(slice.args, profile::kNone);
    const uint32_t metadata = profile.args[slice.args].metadata;
    ASSERT_NE(metadata, profile::kNone);
    seen.push_back(std::string(profile.Name(slice)) + " " + profile.metadata[metadata]);
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{
                R"(double.input_binding {"kind":"host_wall"})",
                R"(double.shape_inference {"kind":"host_wall"})",
                R"(double.output_binding {"kind":"host_wall"})",
                R"(double.infer_host {"kind":"host_wall"})",
                R"(double.delegate {"kind":"host_wall","mode":"blocking"})",
                R"(double.layer_report {"kind":"host_wall","calls":1,"unit_ns":1,"covered":1})",
                R"(conv {"kind":"engine_reported","type":"Convolution","exec":"jit"})",
                R"(relu {"kind":"engine_reported","type":"Relu"})"}));
}

}  // namespace
}  // namespace inferprobe::delegate
