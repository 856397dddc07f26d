// Finds the grain that a loop of one's own runs fastest with, and says how sure that is.
//
//   tune_grain
#include <inferprobe/parallel_for.h>
#include <inferprobe/tune.h>

#include <cstdio>
#include <vector>

int main() {
  inferprobe::CpuExecutor executor(2);
  const std::vector<float> x(1 << 14, 2.0F);
  std::vector<float> y(x.size());

  inferprobe::LoopTuningOptions options;
  options.candidates = {{.grain = 1}, {.grain = 256}, {.grain = 4096}};  // the first: the baseline
  options.rounds = 5;
  options.block_s = 0.002;
  options.outputs_are_right = [&] {
    for (const float value : y) {
      if (value != 4.0F) return false;
    }
    return true;
  };
  const auto tuning = inferprobe::TuneLoop(
      executor,
      [&](const inferprobe::ExecutorView& view, int64_t grain) {
        inferprobe::ParallelFor(view, static_cast<int64_t>(x.size()), grain,
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t i = begin; i < end; ++i) {
                                    const auto at = static_cast<size_t>(i);
                                    y[at] = x[at] * x[at];
                                  }
                                });
      },
      options);
  if (!tuning) {
    std::fprintf(stderr, "%s\n", tuning.error().message.c_str());
    return 1;
  }
  for (const inferprobe::LoopTuningRow& row : tuning->rows) {
    std::printf("grain %5lld  %8.1f us  ratio %.3f [%.3f, %.3f]  %-14s",  //
                static_cast<long long>(row.candidate.grain), row.loop_ns / 1e3, row.ratio,
                row.ratio_low, row.ratio_high, row.verdict.c_str());
    // Explains, and decides nothing.
    if (row.busy_utilization) std::printf("  busy %.0f %%", *row.busy_utilization * 100);
    std::printf("\n");
  }
  std::printf("recommended: %s\n", tuning->recommendation.c_str());
  return 0;
}
