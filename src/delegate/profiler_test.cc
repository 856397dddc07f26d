#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/atomic_file.h"
#include "base/files.h"
#include "base/temporary_folder.h"
#include "delegate/double_engine.h"
#include "delegate/event_log.h"
#include "formats/perfetto/reader.h"
#include "formats/trex/trex.h"
#include "inferprobe/delegate.h"
#include "inferprobe/recorder.h"
#include "profile/delegate_note.h"
#include "profile/ring_import.h"

namespace inferprobe::delegate {
namespace {

using Way = DoubleEngine::Way;

DelegateOptions Options(DoubleEngine* engine, ProfileLevel level) {
  DelegateOptions options;
  options.prefix = "double";
  options.engine = "Double";
  options.engine_version = "1";
  options.method = "forward";
  options.content_hash = "0123456789abcdef";
  options.config.level = level;
  options.config.level_is_given = true;
  options.hooks = engine;
  return options;
}

DelegateOptions WithFiles(DoubleEngine* engine, ProfileFormat format, const std::string& folder,
                          const std::string& hash) {
  DelegateOptions options = Options(engine, ProfileLevel::kLayers);
  options.content_hash = hash;
  options.config.format = format;
  options.config.path_prefix = folder;
  return options;
}

std::unique_ptr<DelegateProfiler> Made(DelegateOptions options) {
  auto profiler = DelegateProfiler::Create(std::move(options));
  EXPECT_TRUE(profiler) << profiler.error().message;
  return profiler ? std::move(*profiler) : nullptr;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

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

TEST(DelegateProfiler, AnEngineWithoutLayersWritesNoFileOfThem) {
  const base::TemporaryFolder folder;
  DelegateOptions options =
      WithFiles(nullptr, ProfileFormat::kTrex, folder.path(), "abababababababab");
  {
    const auto profiler = Made(std::move(options));
    DelegateCall call(profiler.get(), nullptr);
    call.Finish(CallMode::kUnknown);
  }
  EXPECT_EQ(FilesIn(folder.path()),
            (std::vector<std::string>{"model.forward.abababababababab-0.trace.json",
                                      "model.forward.abababababababab-0.trace.metadata.json"}));
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

TEST(DelegateProfiler, EqualEnginesHaveIdsAndFilesOfTheirOwn) {
  const base::TemporaryFolder folder;
  DoubleEngine engines[2];
  float state = 0;
  std::set<std::string> ids;
  for (DoubleEngine& engine : engines) {
    DelegateOptions options = Options(&engine, ProfileLevel::kLayers);
    options.content_hash = "feedfeedfeedfeed";
    options.config.format = ProfileFormat::kTrex;
    options.config.path_prefix = folder.path();
    options.config.model = "net";
    const auto profiler = Made(std::move(options));
    engine.Execute(profiler.get(), nullptr, Way::kBlocking, &state);
    ids.insert(profiler->engine_id());
  }
  EXPECT_EQ(ids, (std::set<std::string>{"feedfeedfeedfeed-0", "feedfeedfeedfeed-1"}));
  EXPECT_EQ(FilesIn(folder.path()),
            (std::vector<std::string>{"net.forward.feedfeedfeedfeed-0.layers.json",
                                      "net.forward.feedfeedfeedfeed-0.layers.metadata.json",
                                      "net.forward.feedfeedfeedfeed-0.trace.json",
                                      "net.forward.feedfeedfeedfeed-0.trace.metadata.json",
                                      "net.forward.feedfeedfeedfeed-1.layers.json",
                                      "net.forward.feedfeedfeedfeed-1.layers.metadata.json",
                                      "net.forward.feedfeedfeedfeed-1.trace.json",
                                      "net.forward.feedfeedfeedfeed-1.trace.metadata.json"}));
}

TEST(DelegateProfiler, ASidecarThatExistsIsRefusedUnlessAsked) {
  const base::TemporaryFolder folder;
  float state = 0;
  const auto options_of = [&](DoubleEngine* engine, std::string hash) {
    DelegateOptions options = Options(engine, ProfileLevel::kPhases);
    options.content_hash = std::move(hash);
    options.config.format = ProfileFormat::kPerfetto;
    options.config.path_prefix = folder.path();
    return options;
  };
  DoubleEngine engine;
  const std::string path = folder.File("model.forward.beefbeefbeefbeef-0.trace.pftrace");
  ASSERT_TRUE(base::WriteFileAtomically(path, "mine", base::Overwrite::kRefuse));
  auto refused = DelegateProfiler::Create(options_of(&engine, "beefbeefbeefbeef"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(
      refused.error().hint,
      "give another folder; to replace it, double_profile_overwrite, or --force of inferprobe "
      "perf");
  EXPECT_EQ(*base::ReadFile(path), "mine");

  DelegateOptions forced = options_of(&engine, "cafecafecafecafe");
  const std::string other = folder.File("model.forward.cafecafecafecafe-0.trace.pftrace");
  ASSERT_TRUE(base::WriteFileAtomically(other, "mine", base::Overwrite::kRefuse));
  forced.config.overwrite = true;
  {
    const auto profiler = Made(std::move(forced));
    engine.Execute(profiler.get(), nullptr, Way::kBlocking, &state);
  }
  EXPECT_NE(*base::ReadFile(other), "mine");
}

trex::LayerProfile ReadTrex(const std::string& path) {
  profile::LossCounts losses;
  auto parsed = trex::ParseProfile(*base::ReadFile(path), path, &losses);
  EXPECT_TRUE(parsed) << path;
  return parsed ? *parsed : trex::LayerProfile();
}

// More events than a timeline holds: sums miss none.
TEST(DelegateProfiler, TrexFilesHaveEveryCallHoweverManyThereWere) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  constexpr uint64_t kCalls = EventLog::kCapacity / 4;
  {
    const auto profiler =
        Made(WithFiles(&engine, ProfileFormat::kTrex, folder.path(), "aaaaaaaaaaaaaaaa"));
    for (uint64_t i = 0; i < kCalls; ++i) {
      DelegateCall call(profiler.get(), nullptr);
      {
        const PhaseScope phase(call, Phase::kInferHost);
      }
      call.Finish(CallMode::kBlocking);
      call.BeginLayers();
      if (i == 0) call.DescribeLayers(engine.layers, LayerTimes::kPerRun);
      const std::vector<int64_t> ns = {5, -1};
      call.ReportLayers(ns, {i + 1, 1});
    }
  }
  const std::string base = folder.File("model.forward.aaaaaaaaaaaaaaaa-0");
  const trex::LayerProfile layers = ReadTrex(base + ".layers.json");
  EXPECT_EQ(layers.count, kCalls);
  ASSERT_EQ(layers.layers.size(), 1U);  // of the other one no time was told
  EXPECT_EQ(layers.layers[0].name, "conv");
  EXPECT_EQ(layers.layers[0].total_ns, static_cast<int64_t>(5 * kCalls));
  const trex::LayerProfile phases = ReadTrex(base + ".trace.json");
  ASSERT_EQ(phases.layers.size(), 1U);  // the phases: the whole call would contain them
  EXPECT_EQ(phases.layers[0].name, "double.infer_host");
  EXPECT_NE(base::ReadFile(base + ".trace.metadata.json")->find("\"host_wall\""),
            std::string::npos);
}

TEST(DelegateProfiler, AFullTimelineHoldsWholeCallsAndSaysHowManyItLeftOut) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  constexpr uint64_t kCalls = EventLog::kCapacity / 8;
  DelegateStats stats;
  std::string path;
  {
    const auto profiler =
        Made(WithFiles(&engine, ProfileFormat::kPerfetto, folder.path(), "bbbbbbbbbbbbbbbb"));
    for (uint64_t i = 0; i < kCalls; ++i) {
      DelegateCall call(profiler.get(), nullptr);
      for (int k = 0; k < 9; ++k) {
        const PhaseScope phase(call, Phase::kInferHost);
      }
      call.Finish(CallMode::kBlocking);
    }
    ASSERT_TRUE(profiler->Close());
    stats = profiler->stats();
    path = folder.File("model.forward." + profiler->engine_id() + ".trace.pftrace");
  }
  EXPECT_GT(stats.sidecar_calls_left_out, 0U);
  const auto recording = perfetto::ReadTrace(path, {});
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->profile.runs.size() + stats.sidecar_calls_left_out, kCalls);
  EXPECT_EQ(recording->profile.slices.size(), recording->profile.runs.size() * 10);
}

TEST(DelegateProfiler, ACallThatIsTooLongForWhatIsLeftGoesAsAWhole) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  constexpr uint64_t kCalls = EventLog::kCapacity / 4 - 2;
  std::string path;
  {
    const auto profiler =
        Made(WithFiles(&engine, ProfileFormat::kPerfetto, folder.path(), "eeeeeeeeeeeeeeee"));
    for (uint64_t i = 0; i <= kCalls; ++i) {
      DelegateCall call(profiler.get(), nullptr);
      for (int k = 0; k < (i == kCalls ? 20 : 3); ++k) {
        const PhaseScope phase(call, Phase::kInferHost);
      }
      call.Finish(CallMode::kBlocking);
    }
    ASSERT_TRUE(profiler->Close());
    EXPECT_EQ(profiler->stats().sidecar_calls_left_out, 1U);
    path = folder.File("model.forward." + profiler->engine_id() + ".trace.pftrace");
  }
  const auto recording = perfetto::ReadTrace(path, {});
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->profile.slices.size(), kCalls * 4);
}

TEST(DelegateProfiler, AnotherFormatOrFolderKeepsTheLayersAndBeginsTheirSums) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  RecordingSink sink;
  float state = 0;
  DelegateOptions options = Options(&engine, ProfileLevel::kLayers);
  options.content_hash = "cccccccccccccccc";
  options.config.path_prefix = folder.path();
  const auto profiler = Made(std::move(options));
  for (int i = 0; i < 3; ++i) engine.Execute(profiler.get(), &sink, Way::kBlocking, &state);
  ASSERT_TRUE(profiler->SetProfileFormat("trex"));
  engine.Execute(profiler.get(), &sink, Way::kBlocking, &state);
  ASSERT_TRUE(profiler->SetProfileFormat("perfetto"));
  for (int i = 0; i < 2; ++i) engine.Execute(profiler.get(), &sink, Way::kBlocking, &state);
  ASSERT_TRUE(profiler->Close());
  EXPECT_EQ(engine.attached, 1U);
  const std::string base = folder.File("model.forward.cccccccccccccccc-0");
  const trex::LayerProfile layers = ReadTrex(base + ".layers.json");
  EXPECT_EQ(layers.count, 1U);
  ASSERT_EQ(layers.layers.size(), 2U);
  EXPECT_EQ(layers.layers[0].total_ns, 3000);
  const auto trace = perfetto::ReadTrace(base + ".window2.trace.pftrace", {});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->profile.runs.size(), 2U);
  size_t reported = 0;
  for (const profile::Slice& slice : trace->profile.slices) {
    reported += slice.category == profile::Category::kDelegateOp ? 1 : 0;
  }
  EXPECT_EQ(reported, 4U);
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

TEST(DelegateProfiler, NothingRecordedNothingWritten) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  DelegateOptions options = Options(&engine, ProfileLevel::kPhases);
  options.config.format = ProfileFormat::kPerfetto;
  options.config.path_prefix = folder.path();
  Made(std::move(options)).reset();
  EXPECT_TRUE(FilesIn(folder.path()).empty());
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
