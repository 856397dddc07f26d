// N iterations of one loop, for a tool that counts instructions:
//   scope_instructions empty|disabled|enabled|counter N
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"

namespace {

// Something that the compiler neither knows nor moves.
inline void Body() { asm volatile("" ::: "memory"); }

__attribute__((noinline)) void Empty(long n) {
  for (long i = 0; i < n; ++i) Body();
}

__attribute__((noinline)) void Scoped(long n) {
  for (long i = 0; i < n; ++i) {
    INFERPROBE_SCOPE("scoped");
    Body();
  }
}

__attribute__((noinline)) void Counted(long n) {
  for (long i = 0; i < n; ++i) {
    INFERPROBE_COUNTER("counted", i);
    Body();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long n = std::strtol(argv[2], nullptr, 10);
  std::optional<inferprobe::Result<inferprobe::Recorder>> recorder;
  if (what == "enabled") {
    recorder.emplace(inferprobe::Recorder::Start({.events_per_thread = 1 << 20}));
    if (!*recorder) return 1;
    Scoped(1);  // attaches
  }
  if (what == "empty") {
    Empty(n);
  } else if (what == "counter") {
    Counted(n);
  } else {
    Scoped(n);
  }
  return 0;
}
