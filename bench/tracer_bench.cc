// What a tracer costs an inference: the same program without one (twice: A against A), with ours
// and with ExecuTorch's own ETDumpGen. One run each in turn, in an order drawn anew for each round,
// so that what disturbs the machine disturbs all four alike; the rows are medians over the rounds.
//
//   tracer_bench                        all programs, as a table
//   tracer_bench --json                 a line for each program and tracer, for bench/targets.py
//   tracer_bench --rounds 4000 [--threads 1] PROGRAM.pte ...
//
// Not a Google Benchmark loop: that measures one thing after the other, and a machine drifts by
// more between two of its blocks than a tracer costs.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench_program.h"
#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/null_tracer.h"
#include "engines/executorch/thread_pool.h"
#include "engines/executorch/tracer.h"
#include "record/ring_writer.h"
#include "turns.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

enum Way : size_t { kNone, kNoneAgain, kNull, kOurs, kEtdump, kWays };
constexpr std::array<const char*, kWays> kWayNames = {"none", "none again (A against A)",
                                                      "null (does nothing)", "ours", "ETDumpGen"};
constexpr int kWarmUps = 2;
constexpr int kRunsOfATurn = 4;

Result<void> Measure(const std::string& path, int rounds, bool json) {
  auto program = BenchProgram::Open(path);
  if (!program) return tl::unexpected(program.error());
  auto recorder = StartRecorder();
  if (!recorder) return tl::unexpected(recorder.error());
  RingTracer ours;
  // On its own heap buffer, emptied after each run: the static one is not given back by reset().
  ::executorch::etdump::ETDumpGen etdump;
  NullTracer null;
  std::array<et::EventTracer*, 4> tracers = {nullptr, &null, &ours, &etdump};
  std::array<std::unique_ptr<MethodInstance>, 4> instances;
  for (size_t i = 0; i < instances.size(); ++i) {
    // At level off a backend is not given the tracer.
    auto loaded = (*program)->Instance(
        tracers[i], tracers[i] == nullptr ? ProfileLevel::kOff : ProfileLevel::kDelegate);
    if (!loaded) return tl::unexpected(loaded.error());
    instances[i] = std::move(*loaded);
  }

  record::ThreadRing* ring = record::AttachThread();
  size_t events = 0;
  const auto run = [&](Way way) {
    MethodInstance* instance = instances[way < kNull ? 0 : way - 1].get();
    const uint64_t head = ring->head;
    const uint64_t start = NowTicks();
    et::Error error = instance->GiveInputs();
    if (way == kOurs) ours.BeginRun(ring);
    if (error == et::Error::Ok) error = instance->Execute();
    if (way == kOurs) ours.EndRun();
    const uint64_t end = NowTicks();
    if (error != et::Error::Ok) {
      std::fputs(EngineError("a run failed", error).message.c_str(), stderr);
      std::exit(1);
    }
    // What perf does between runs, too.
    if (way == kOurs) {
      events = ring->head - head;
      recorder->Drain();
    }
    if (way == kEtdump) etdump.reset();
    return static_cast<double>(end - start) * Clock().ns_per_tick;
  };

  const Turns turns = Turns::Take(
      {kWays, rounds, kWarmUps, kRunsOfATurn},
      [&](size_t way) { return run(static_cast<Way>(way)); }, [](size_t) {});
  if (json) {
    for (size_t way = 0; way < kWays; ++way) {
      const std::vector<double> over_none = turns.Ratios(way, kNone);
      fmt::print(
          R"({{"program": "{}", "tracer": "{}", "events": {}, "rounds": {}, "median_us": {}, )"
          R"("x_none": {}, "x_none_low": {}, "x_none_high": {}, "x_null": {}}})"
          "\n",
          path.substr(path.rfind('/') + 1), kWayNames[way], events, rounds,
          MedianOf(turns.ns(way)) / 1e3, MedianOf(over_none), QuantileOf(over_none, 0.25),
          QuantileOf(over_none, 0.75), MedianOf(turns.Ratios(way, kNull)));
    }
    return {};
  }
  fmt::print("\n{}: {} events a run, {} rounds\n", path.substr(path.rfind('/') + 1), events,
             rounds);
  fmt::print("  {:<26} {:>10}  {:>8}  {:>8}  {:>12}\n", "tracer", "median us", "x none", "x null",
             "ns per event");
  for (size_t way = 0; way < kWays; ++way) {
    const double over_null = MedianOf(turns.Ratios(way, kNull));
    fmt::print("  {:<26} {:>10.1f}  {:>8.4f}  {:>8.4f}  {:>12}\n", kWayNames[way],
               MedianOf(turns.ns(way)) / 1e3, MedianOf(turns.Ratios(way, kNone)), over_null,
               way < kOurs ? ""
                           : fmt::format("{:.1f}", (over_null - 1) * MedianOf(turns.ns(kNull)) /
                                                       static_cast<double>(events)));
  }
  return {};
}

int Main(int argc, char** argv) {
  InstallLogCapture();
  int rounds = 1000;
  bool json = false;
  std::vector<std::string> programs;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      if (auto set = SetPoolThreads(std::atoi(argv[++i])); !set) {
        std::fprintf(stderr, "%s\n", set.error().message.c_str());
        return 1;
      }
    } else {
      programs.emplace_back(argv[i]);
    }
  }
  return MeasureEach(std::move(programs), {"vision_xnnpack", "regions50_xnnpack"},
                     [&](const std::string& program) { return Measure(program, rounds, json); });
}

}  // namespace
}  // namespace inferprobe::executorch_engine

int main(int argc, char** argv) { return inferprobe::executorch_engine::Main(argc, argv); }
