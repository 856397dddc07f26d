// N calls of a delegate on the kit, or N layers, for a tool that counts instructions:
//   delegate_instructions empty|off|silent|phases|describe|report N
//
// off: level off. silent: level phases, with nobody to take events. phases: level phases, into a
// sink that does nothing. describe, report: N layers of one call, described or described and
// reported. The sink does nothing: what is counted is the kit's own.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inferprobe/delegate.h"

namespace {

using inferprobe::DelegateCall;
using inferprobe::DelegateProfiler;
using inferprobe::Phase;
using inferprobe::PhaseScope;
using inferprobe::ProfileLevel;

// Something that the compiler neither knows nor moves.
inline void Body() { asm volatile("" ::: "memory"); }

class NoEngine final : public inferprobe::EngineHooks {
 public:
  inferprobe::Result<void> AttachLayers() override { return {}; }
};

class SilentSink final : public inferprobe::EventSink {
 public:
  virtual ~SilentSink() = default;
  void Begin(const char* /*name*/, Token* token) override { *token = {}; }
  void End(const Token& /*token*/, std::string_view /*metadata*/) override {}
  void Log(const char* /*name*/, uint64_t /*start*/, uint64_t /*end*/,
           std::string_view /*metadata*/) override {}
  [[nodiscard]] uint64_t Now() const override { return 0; }
  [[nodiscard]] uint64_t TicksOf(int64_t ns) const override { return static_cast<uint64_t>(ns); }
};

std::unique_ptr<DelegateProfiler> MakeProfiler(ProfileLevel level, inferprobe::EngineHooks* hooks) {
  inferprobe::DelegateOptions options;
  options.prefix = "double";
  options.engine = "Double";
  options.method = "forward";
  options.content_hash = "0123456789abcdef";
  options.config.level = level;
  options.hooks = hooks;
  auto made = DelegateProfiler::Create(std::move(options));
  return made ? std::move(*made) : nullptr;
}

__attribute__((noinline)) void Empty(long n) {
  for (long i = 0; i < n; ++i) Body();
}

// As our OpenVINO delegate does it: three phases in a call.
__attribute__((noinline)) void Calls(DelegateProfiler* profiler, inferprobe::EventSink* sink,
                                     long n) {
  for (long i = 0; i < n; ++i) {
    DelegateCall call(profiler, sink);
    for (const Phase phase : {Phase::kInputBinding, Phase::kOutputBinding, Phase::kInferHost}) {
      const PhaseScope scope(call, phase);
      Body();
    }
    call.Finish(inferprobe::CallMode::kBlocking);
  }
}

void Layers(DelegateProfiler* profiler, inferprobe::EventSink* sink, size_t n, bool report) {
  std::vector<std::string> names;
  std::vector<inferprobe::LayerFacts> facts;
  names.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    // Of one length, so that a longer list has no longer names.
    names.push_back("layer_" + std::to_string(1'000'000 + i));
    facts.push_back({names.back(), "Convolution", "jit_avx2"});
  }
  const std::vector<int64_t> times(n, 1000);
  DelegateCall call(profiler, sink);
  call.Finish(inferprobe::CallMode::kBlocking);
  call.BeginLayers();
  call.DescribeLayers(facts, inferprobe::LayerTimes::kPerRun);
  if (report) call.ReportLayers(times, {.calls = 1, .unit_ns = 1000});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long n = std::strtol(argv[2], nullptr, 10);
  NoEngine engine;
  SilentSink sink;
  const bool layers = what == "describe" || what == "report";
  const ProfileLevel level = what == "off" ? ProfileLevel::kOff
                             : layers      ? ProfileLevel::kLayers
                                           : ProfileLevel::kPhases;
  const auto profiler = MakeProfiler(level, &engine);
  if (profiler == nullptr) return 1;
  if (what == "empty") {
    Empty(n);
  } else if (layers) {
    Layers(profiler.get(), &sink, static_cast<size_t>(n), what == "report");
  } else if (what == "off" || what == "silent" || what == "phases") {
    Calls(profiler.get(), what == "phases" ? &sink : nullptr, n);
  } else {
    return 2;
  }
  return 0;
}
