// A delegate of somebody else's, on the kit: a runtime without a tracer of ours, an engine with
// layers.
#include <inferprobe/config_c.h>
#include <inferprobe/delegate.h>

#include <cstdio>
#include <string>

namespace {

class PrintingTracer final : public inferprobe::EventSink {
 public:
  virtual ~PrintingTracer() = default;
  void Begin(const char* name, Token* token) override {
    token->words[0] = reinterpret_cast<int64_t>(name);
  }
  void End(const Token& token, std::string_view metadata) override {
    std::printf("%s %s\n", reinterpret_cast<const char*>(token.words[0]),
                std::string(metadata).c_str());
  }
  void Log(const char* name, uint64_t start, uint64_t end, std::string_view /*metadata*/) override {
    std::printf("%s %u ns\n", name, static_cast<unsigned>(end - start));
  }
  [[nodiscard]] uint64_t Now() const override { return 0; }
  [[nodiscard]] uint64_t TicksOf(int64_t ns) const override { return static_cast<uint64_t>(ns); }
};

class Engine final : public inferprobe::EngineHooks {
 public:
  inferprobe::Result<void> AttachLayers() override { return {}; }
};

}  // namespace

int main() {
  Engine engine;
  auto config = inferprobe::ResolveProfileConfig("mine", {.level = "layers"}, {});
  if (!config) return 1;
  inferprobe::DelegateOptions options;
  options.prefix = "mine";
  options.engine = "Mine";
  options.method = "forward";
  options.content_hash = inferprobe::EngineContentHash({});
  options.config = *config;
  options.hooks = &engine;
  auto profiler = inferprobe::DelegateProfiler::Create(options);
  if (!profiler) return 1;
  PrintingTracer tracer;
  {
    inferprobe::DelegateCall call(profiler->get(), &tracer);
    {
      const inferprobe::PhaseScope phase(call, inferprobe::Phase::kInferHost);
    }
    call.Finish(inferprobe::CallMode::kBlocking);
    call.BeginLayers();
    const inferprobe::LayerFacts layers[] = {{"conv", "Convolution", ""}};
    const int64_t ns[] = {1500};
    call.DescribeLayers(layers, inferprobe::LayerTimes::kPerRun);
    call.ReportLayers(ns, {1, 1});
  }
  std::printf("process-wide: %d\n", inferprobe_get_profile_execution());
  return 0;
}
