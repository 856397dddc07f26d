#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/files.h"
#include "base/temporary_folder.h"
#include "delegate/event_log.h"
#include "delegate/profiler_test_support.h"
#include "formats/perfetto/reader.h"
#include "formats/trex/trex.h"
#include "inferprobe/delegate.h"

namespace inferprobe::delegate {
namespace {

TEST(DelegateSidecar, AnEngineWithoutLayersWritesNoFileOfThem) {
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

TEST(DelegateSidecar, EqualEnginesHaveIdsAndFilesOfTheirOwn) {
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

TEST(DelegateSidecar, ASidecarThatExistsIsRefusedUnlessAsked) {
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

// More events than a timeline holds: sums miss none.
TEST(DelegateSidecar, TrexFilesHaveEveryCallHoweverManyThereWere) {
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

TEST(DelegateSidecar, AFullTimelineHoldsWholeCallsAndSaysHowManyItLeftOut) {
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

TEST(DelegateSidecar, ACallThatIsTooLongForWhatIsLeftGoesAsAWhole) {
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

TEST(DelegateSidecar, AnotherFormatOrFolderKeepsTheLayersAndBeginsTheirSums) {
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

TEST(DelegateSidecar, NothingRecordedNothingWritten) {
  const base::TemporaryFolder folder;
  DoubleEngine engine;
  DelegateOptions options = Options(&engine, ProfileLevel::kPhases);
  options.config.format = ProfileFormat::kPerfetto;
  options.config.path_prefix = folder.path();
  Made(std::move(options)).reset();
  EXPECT_TRUE(FilesIn(folder.path()).empty());
}

}  // namespace
}  // namespace inferprobe::delegate
