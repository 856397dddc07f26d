// What a scope costs, beside nothing and beside ExecuTorch's own profiler. The column `each` is the
// time of one scope; a batch fits the ring, which is emptied between batches, outside the timing.
//
// The rule that people break: compare rows of one run. Between runs the machine changes more than
// the code does.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <optional>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "record/layout.h"

#if defined(INFERPROBE_HAVE_ETDUMP)
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/platform/runtime.h>
#endif

namespace {

constexpr int kBatch = 1 << 14;
constexpr uint32_t kRing = 1 << 15;

void ReportEach(benchmark::State& state) {
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBatch,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

class Recording {
 public:
  Recording() : recorder_(inferprobe::Recorder::Start({.events_per_thread = kRing})) {}

  // What a drain does to the writer, without the reading. False: events were dropped, and their
  // cost is not that of recording.
  bool Empty() {
    auto* ring = reinterpret_cast<inferprobe::record::RingHeader*>(
        static_cast<char*>(const_cast<void*>(recorder_->memory())) +
        sizeof(inferprobe::record::Header));
    ring->tail.store(ring->head.load());
    return ring->dropped.load() == 0;
  }

 private:
  inferprobe::Result<inferprobe::Recorder> recorder_;
};

void EmptyLoop(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) benchmark::ClobberMemory();
  }
  ReportEach(state);
}
BENCHMARK(EmptyLoop)->Name("empty loop");

void DisabledScope(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) {
      INFERPROBE_SCOPE("disabled");
      benchmark::ClobberMemory();
    }
  }
  ReportEach(state);
}
BENCHMARK(DisabledScope)->Name("disabled scope");

void ClockPair(benchmark::State& state) {
  inferprobe::Clock();
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) {
      benchmark::DoNotOptimize(inferprobe::NowTicks());
      benchmark::DoNotOptimize(inferprobe::NowTicks());
    }
  }
  ReportEach(state);
}
BENCHMARK(ClockPair)->Name("two clock readings");

void EnabledScope(benchmark::State& state) {
  Recording recording;
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) {
      INFERPROBE_SCOPE("enabled");
      benchmark::ClobberMemory();
    }
    state.PauseTiming();
    if (!recording.Empty()) state.SkipWithError("events were dropped");
    state.ResumeTiming();
  }
  ReportEach(state);
}
BENCHMARK(EnabledScope)->Name("enabled scope");

void Chained(benchmark::State& state) {
  Recording recording;
  static constinit inferprobe::Site site("chained");
  for (auto _ : state) {
    {
      inferprobe::Chain chain(site);
      for (int i = 1; i < kBatch; ++i) {
        chain.Next(site);
        benchmark::ClobberMemory();
      }
    }
    state.PauseTiming();
    if (!recording.Empty()) state.SkipWithError("events were dropped");
    state.ResumeTiming();
  }
  ReportEach(state);
}
BENCHMARK(Chained)->Name("chained");

#if defined(INFERPROBE_HAVE_ETDUMP)
void EtdumpGen(benchmark::State& state) {
  executorch::runtime::runtime_init();
  executorch::etdump::ETDumpGen generator;
  for (auto _ : state) {
    state.PauseTiming();
    generator.reset();
    generator.create_event_block("batch");
    state.ResumeTiming();
    for (int i = 0; i < kBatch; ++i) {
      generator.end_profiling(generator.start_profiling("event", 0, 1));
      benchmark::ClobberMemory();
    }
  }
  ReportEach(state);
}
BENCHMARK(EtdumpGen)->Name("ETDumpGen");
#endif

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
#if !defined(INFERPROBE_HAVE_ETDUMP)
  std::fputs("ETDumpGen: left out, EXECUTORCH_ROOT was empty when this was built\n", stderr);
#endif
  const std::string why_not = inferprobe::WhyNotTsc();
  benchmark::AddCustomContext("clock", why_not.empty() ? "tsc" : "clock_gettime: " + why_not);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
