#include "measure/machine/canary.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace inferprobe::measure {
namespace {

constexpr int kAdditions = 1 << 17;
constexpr int kUnrolled = 16;

int64_t NowNs() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

uint64_t Chain(uint64_t sum, uint64_t step) {
  for (int i = 0; i < kAdditions / kUnrolled; ++i) {
    for (int k = 0; k < kUnrolled; ++k) {
      sum += step;
      // The compiler must not fold additions. `step` is in a register because recent cores carry
      // out additions of constants while renaming, several in a cycle.
      asm volatile("" : "+r"(sum), "+r"(step));
    }
  }
  return sum;
}

}  // namespace

int64_t CanaryNs() {
  uint64_t sum = 1;
  int64_t fastest = std::numeric_limits<int64_t>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int64_t start = NowNs();
    sum = Chain(sum, 3);
    asm volatile("" : "+r"(sum));
    fastest = std::min(fastest, NowNs() - start);
  }
  return fastest;
}

}  // namespace inferprobe::measure
