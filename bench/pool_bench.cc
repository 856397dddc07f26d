// What looking at the parallel regions of an unmodified ExecuTorch costs an inference: the same
// instance, without a tracer, not looked at (twice: A against A) and looked at in each detail.
//
//   pool_bench --rounds 1000 [PROGRAM.pte ...]      one line of JSON for each program and detail
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench_program.h"
#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/pool_hooks.h"
#include "inferprobe/region.h"
#include "regions/current_work.h"
#include "turns.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

enum Way : size_t { kOff, kOffAgain, kWall, kBusy, kCpu, kWays };
constexpr std::array<const char*, kWays> kWayNames = {"off", "off again (A against A)", "wall",
                                                      "wall + busy", "CPU clocks"};

Result<void> Measure(const std::string& path, int rounds) {
  auto program = BenchProgram::Open(path);
  if (!program) return tl::unexpected(program.error());
  auto instance = (*program)->Instance(nullptr, ProfileLevel::kOff);
  if (!instance) return tl::unexpected(instance.error());
  std::array<ParallelRegionCollector, 3> collectors = {
      ParallelRegionCollector({.capacity = 1 << 15, .detail = RegionDetail::kWall}),
      ParallelRegionCollector({.capacity = 1 << 15, .detail = RegionDetail::kBusy}),
      ParallelRegionCollector({.capacity = 1 << 15, .detail = RegionDetail::kCpuClock})};
  size_t regions = 0;
  const Turns turns = Turns::Take(
      {kWays, rounds, 2, 4},
      [&](size_t way) {
        ParallelRegionCollector* collector = way < kWall ? nullptr : &collectors[way - kWall];
        et::Error error = (*instance)->GiveInputs();
        inferprobe::regions::t_work.hooked = collector;
        const uint64_t start = NowTicks();
        if (error == et::Error::Ok) error = (*instance)->Execute();
        const uint64_t end = NowTicks();
        inferprobe::regions::t_work.hooked = nullptr;
        if (error != et::Error::Ok) {
          std::fputs(EngineError("a run failed", error).message.c_str(), stderr);
          std::exit(1);
        }
        if (collector != nullptr) {
          regions = collector->Report().events.size();
          collector->Clear();
        }
        return static_cast<double>(end - start) * Clock().ns_per_tick;
      },
      [](size_t) {});
  for (size_t way = 0; way < kWays; ++way) {
    const std::vector<double> ratios = turns.Ratios(way, kOff);
    fmt::print(
        R"({{"program": "{}", "way": "{}", "regions": {}, "rounds": {}, "median_us": {:.3f}, )"
        R"("x": {:.6f}, "x_low": {:.6f}, "x_high": {:.6f}}})"
        "\n",
        path.substr(path.rfind('/') + 1), kWayNames[way], regions, rounds,
        MedianOf(turns.ns(way)) / 1e3, MedianOf(ratios), QuantileOf(ratios, 0.25),
        QuantileOf(ratios, 0.75));
  }
  std::fflush(stdout);
  return {};
}

int Main(int argc, char** argv) {
  InstallLogCapture();
  int rounds = 1000;
  std::vector<std::string> programs;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = std::max(2, std::atoi(argv[++i]));
    } else {
      programs.emplace_back(argv[i]);
    }
  }
  if (const auto sources = RegionSources(); !sources) {
    std::fprintf(stderr, "%s\n", sources.missing().hint.c_str());
    return 1;
  }
  return MeasureEach(std::move(programs), {"regions50_xnnpack", "vision_xnnpack", "text_portable"},
                     [&](const std::string& program) { return Measure(program, rounds); });
}

}  // namespace
}  // namespace inferprobe::executorch_engine

int main(int argc, char** argv) { return inferprobe::executorch_engine::Main(argc, argv); }
