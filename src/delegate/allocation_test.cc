// Counts every allocation of this program: a call makes none of the kit's own after the first, at
// any level, and at level off it does nothing at all. A program of its own, because it replaces
// malloc.
#include <gtest/gtest.h>

#include "base/counting_malloc.h"
#include "inferprobe/delegate.h"
#include "inferprobe/recorder.h"

namespace inferprobe {
namespace {

class NoEngine final : public EngineHooks {
 public:
  Result<void> AttachLayers() override { return {}; }
};

class CountingSink final : public EventSink {
 public:
  virtual ~CountingSink() = default;
  void Begin(const char* /*name*/, Token* /*token*/) override { ++count; }
  void End(const Token& /*token*/, std::string_view /*metadata*/) override { ++count; }
  void Log(const char* /*name*/, uint64_t /*start*/, uint64_t /*end*/,
           std::string_view /*metadata*/) override {
    ++count;
  }
  [[nodiscard]] uint64_t Now() const override { return 0; }
  [[nodiscard]] uint64_t TicksOf(int64_t ns) const override { return static_cast<uint64_t>(ns); }
  uint64_t count = 0;
};

constexpr LayerFacts kLayers[] = {{"conv", "Convolution", ""}, {"relu", "Relu", ""}};
constexpr int64_t kTimes[] = {5, 6};

void Calls(DelegateProfiler* profiler, EventSink* sink, int count) {
  for (int i = 0; i < count; ++i) {
    DelegateCall call(profiler, sink);
    {
      const PhaseScope phase(call, Phase::kInputBinding);
    }
    {
      const PhaseScope phase(call, Phase::kInferHost);
    }
    call.Finish(CallMode::kBlocking);
    if (!call.wants_layers()) continue;
    call.BeginLayers();
    if (i == 0 && count == 1) call.DescribeLayers(kLayers, LayerTimes::kPerRun);
    call.ReportLayers(kTimes, {1, 1});
  }
}

uint64_t AllocationsOfCalls(ProfileLevel level, EventSink* sink) {
  NoEngine engine;
  DelegateOptions options;
  options.prefix = "double";
  options.content_hash = "0123456789abcdef";
  options.config.level = level;
  options.config.level_is_given = true;
  options.hooks = &engine;
  auto profiler = DelegateProfiler::Create(std::move(options));
  EXPECT_TRUE(profiler);
  if (level != ProfileLevel::kOff) Calls(profiler->get(), sink, 1);
  const uint64_t before = base::g_allocations.load();
  Calls(profiler->get(), sink, 1000);
  return base::g_allocations.load() - before;
}

TEST(DelegateAllocations, NoneOnceTheFirstCallIsOver) {
  for (const ProfileLevel level : {ProfileLevel::kOff, ProfileLevel::kDelegate,
                                   ProfileLevel::kPhases, ProfileLevel::kLayers}) {
    CountingSink sink;
    EXPECT_EQ(AllocationsOfCalls(level, &sink), 0U) << ProfileLevelName(level);
    EXPECT_EQ(sink.count == 0, level == ProfileLevel::kOff);
    EXPECT_EQ(AllocationsOfCalls(level, nullptr), 0U) << ProfileLevelName(level);
  }
}

TEST(DelegateAllocations, NoneWithTheRecorderEither) {
  auto recorder = Recorder::Start({.events_per_thread = 1 << 16, .max_threads = 1});
  ASSERT_TRUE(recorder);
  EXPECT_EQ(AllocationsOfCalls(ProfileLevel::kLayers, nullptr), 0U);
}

}  // namespace
}  // namespace inferprobe
