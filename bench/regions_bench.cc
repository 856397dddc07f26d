// What looking at parallel regions costs: the same loop on the same executor, without the wrapper,
// with it switched off, and looked at in each detail. The ways take turns in random order; a turn's
// figure is the fastest of its runs, as a run that lost its CPU says nothing about the wrapper.
//
//   regions_bench --rounds 300        one line of JSON for each loop and way
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"
#include "turns.h"

namespace inferprobe {
namespace {

enum Way : uint8_t { kBare, kOff, kOffAgain, kWall, kBusy, kCpu, kWays };
constexpr std::array<const char*, kWays> kWayNames = {
    "no wrapper", "off", "off again (A against A)", "wall", "wall + busy", "CPU clocks"};
constexpr int kRunsOfATurn = 5;

// How a loop is run in one way.
class Runner {
 public:
  Runner(CpuExecutor& executor, Way way) : view_(executor), way_(way) {
    if (way < kWall) return;
    RegionCollectorOptions options;
    options.capacity = 1 << 12;
    options.detail = way == kWall   ? RegionDetail::kWall
                     : way == kBusy ? RegionDetail::kBusy
                                    : RegionDetail::kCpuClock;
    collector_ = std::make_unique<ParallelRegionCollector>(options);
    view_ = ExecutorView(executor, collector_.get());
  }

  template <typename F>
  void For(int64_t total, int64_t grain, F&& body, int limit = 0) const {
    if (way_ == kBare) {
      view_.executor().Run(total, grain, body, limit);
    } else if (limit == 0) {
      ParallelFor(view_, total, grain, body, "loop");
    } else {
      ParallelFor(ExecutorView(view_.executor(), view_.regions(), limit), total, grain, body,
                  "loop");
    }
  }
  void Forget() {
    if (collector_) collector_->Clear();
  }

 private:
  ExecutorView view_;
  std::unique_ptr<ParallelRegionCollector> collector_;
  Way way_;
};

volatile double g_sink = 0;

void Compute(int64_t steps) {
  double x = 1.0001;
  for (int64_t i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  if (x < 0) g_sink = x;
}

struct Loop {
  const char* name;
  std::function<void(const Runner&)> run;
};

std::vector<Loop> Loops(int threads) {
  constexpr int64_t kStep = 2000;  // about 2 us
  std::vector<Loop> loops;
  loops.push_back({"serial", [](const Runner& run) {
                     run.For(100, 10, [](int64_t b, int64_t e) { Compute((e - b) * kStep); }, 1);
                   }});
  loops.push_back({"fully occupied", [threads](const Runner& run) {
                     run.For(100L * threads, 100,
                             [](int64_t b, int64_t e) { Compute((e - b) * kStep); });
                   }});
  loops.push_back({"compute-bound, 64 chunks", [](const Runner& run) {
                     run.For(64, 1, [](int64_t b, int64_t e) { Compute((e - b) * kStep); });
                   }});
  const auto from = std::make_shared<std::vector<float>>(size_t{4} << 20, 1.5F);
  const auto into = std::make_shared<std::vector<float>>(size_t{4} << 20);
  loops.push_back(
      {"memory-bound, 32 MiB", [from, into](const Runner& run) {
         run.For(static_cast<int64_t>(from->size()), 1 << 16, [&](int64_t b, int64_t e) {
           for (int64_t i = b; i < e; ++i) {
             (*into)[static_cast<size_t>(i)] = (*from)[static_cast<size_t>(i)] * 2.0F;
           }
         });
       }});
  loops.push_back({"nested inline, 4 in 1", [](const Runner& run) {
                     run.For(4, 1, [&run](int64_t, int64_t) {
                       run.For(16, 4, [](int64_t b, int64_t e) { Compute((e - b) * kStep); });
                     });
                   }});
  loops.push_back({"imbalanced, one chunk of 3 x", [](const Runner& run) {
                     run.For(8, 1, [](int64_t b, int64_t) { Compute((b == 0 ? 30 : 10) * kStep); });
                   }});
  loops.push_back({"48 loops of about 10 us", [](const Runner& run) {
                     for (int i = 0; i < 48; ++i) {
                       run.For(4, 1, [](int64_t b, int64_t e) { Compute((e - b) * kStep); });
                     }
                   }});
  loops.push_back({"two callers at once", [](const Runner& run) {
                     std::barrier both(2);
                     const auto caller = [&] {
                       both.arrive_and_wait();
                       for (int i = 0; i < 16; ++i) {
                         run.For(4, 1, [](int64_t b, int64_t e) { Compute((e - b) * kStep); });
                       }
                     };
                     std::jthread second(caller);
                     caller();
                   }});
  return loops;
}

void Measure(const Loop& loop, CpuExecutor& executor, int rounds) {
  std::vector<Runner> runners;
  for (int way = 0; way < kWays; ++way) runners.emplace_back(executor, static_cast<Way>(way));
  const Turns turns = Turns::Take(
      {kWays, rounds, 0, kRunsOfATurn},
      [&](size_t way) {
        const uint64_t start = NowTicks();
        loop.run(runners[way]);
        const uint64_t end = NowTicks();
        return static_cast<double>(end - start) * Clock().ns_per_tick;
      },
      [&](size_t way) { runners[way].Forget(); });
  // The wrapper that is off is compared with the bare loop, the others with the wrapper that is
  // off.
  for (size_t way = 0; way < kWays; ++way) {
    const size_t base = way <= kOff ? size_t{kBare} : size_t{kOff};
    const std::vector<double> ratios = turns.Ratios(way, base);
    fmt::print(
        R"({{"loop": "{}", "way": "{}", "against": "{}", "rounds": {}, "median_us": {:.3f}, )"
        R"("x": {:.6f}, "x_low": {:.6f}, "x_high": {:.6f}}})"
        "\n",
        loop.name, kWayNames[way], kWayNames[base], rounds, MedianOf(turns.ns(way)) / 1e3,
        MedianOf(ratios), QuantileOf(ratios, 0.25), QuantileOf(ratios, 0.75));
  }
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  int rounds = 300;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(2, std::atoi(argv[i + 1]));
  }
  (void)Clock();  // calibrated before the first reading
  CpuExecutor executor;
  for (const Loop& loop : Loops(executor.threads())) Measure(loop, executor, rounds);
  return 0;
}

}  // namespace
}  // namespace inferprobe

int main(int argc, char** argv) { return inferprobe::Main(argc, argv); }
