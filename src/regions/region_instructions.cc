// N calls of one loop, for a tool that counts instructions or system calls:
//   region_instructions run|disabled|busy N
//   region_instructions cpu N                 // each of 128 chunks, with CPU clocks
#include <cstdlib>
#include <optional>
#include <string_view>

#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"

namespace {

// Something that the compiler neither knows nor moves.
void Body(int64_t begin, int64_t end) { asm volatile("" : : "r"(begin), "r"(end) : "memory"); }

__attribute__((noinline)) void Run(const inferprobe::ExecutorView& view, long n) {
  for (long i = 0; i < n; ++i) view.executor().Run(8, 4, Body, view.limit());
}

__attribute__((noinline)) void Parallel(const inferprobe::ExecutorView& view, int64_t total,
                                        long n) {
  for (long i = 0; i < n; ++i) inferprobe::ParallelFor(view, total, 4, Body, "a label");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long n = std::strtol(argv[2], nullptr, 10);
  inferprobe::CpuExecutor executor(1);
  std::optional<inferprobe::ParallelRegionCollector> regions;
  const bool cpu = what == "cpu";
  if (cpu || what == "busy") {
    inferprobe::RegionCollectorOptions options;
    options.capacity = 16;
    if (cpu) options.detail = inferprobe::RegionDetail::kCpuClock;
    regions.emplace(options);
  }
  const inferprobe::ExecutorView view(executor, regions ? &*regions : nullptr);
  if (what == "run") {
    Run(view, n);
  } else {
    Parallel(view, cpu ? 4 * 128 : 8, n);
  }
  return 0;
}
