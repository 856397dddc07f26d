// N calls of one loop, for a tool that counts instructions or system calls:
//   region_instructions run|disabled|busy N
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

__attribute__((noinline)) void Parallel(const inferprobe::ExecutorView& view, long n) {
  for (long i = 0; i < n; ++i) inferprobe::ParallelFor(view, 8, 4, Body, "a label");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long n = std::strtol(argv[2], nullptr, 10);
  inferprobe::CpuExecutor executor(1);
  std::optional<inferprobe::ParallelRegionCollector> regions;
  if (what == "busy") regions.emplace(inferprobe::RegionCollectorOptions{.capacity = 16});
  const inferprobe::ExecutorView view(executor, regions ? &*regions : nullptr);
  if (what == "run") {
    Run(view, n);
  } else {
    Parallel(view, n);
  }
  return 0;
}
