// Times two parts of a step with scopes and prints what was recorded.
//
//   ./example_scopes                 records into private memory and prints
//   ./example_scopes run.ring        records into a file that survives a crash of the program
#include <inferprobe/recorder.h>
#include <inferprobe/scope.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace {

double Decode() {
  INFERPROBE_SCOPE("decode");  // until the end of the block
  double sum = 0;
  for (int i = 1; i < 20'000; ++i) sum += std::sqrt(i);
  return sum;
}

double Sample(double logits) {
  INFERPROBE_SCOPE("sample");
  return std::fmod(logits, 10);
}

double Step() {
  INFERPROBE_SCOPE("step");
  return Sample(Decode());
}

}  // namespace

int main(int argc, char** argv) {
  auto recorder = inferprobe::Recorder::Start({.file = argc > 1 ? argv[1] : ""});
  if (!recorder) {
    std::fprintf(stderr, "%s\n", recorder.error().message.c_str());
    return 1;
  }
  double tokens = 0;
  for (int i = 0; i < 2; ++i) {
    tokens += Step() >= 0 ? 1 : 0;
    INFERPROBE_COUNTER("tokens", tokens);
  }

  // Between the steps, never during one: draining takes time.
  inferprobe::DrainedScopes drained = recorder->Drain();
  std::sort(drained.scopes.begin(), drained.scopes.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });  // in order of their start
  for (const inferprobe::RecordedScope& scope : drained.scopes) {
    std::printf("%s%-8.*s %8.1f us\n", scope.parent == 0 ? "" : "  ",
                static_cast<int>(scope.name.size()), scope.name.data(),
                static_cast<double>(scope.dur_ns) / 1000);
  }
  for (const inferprobe::RecordedCounter& counter : drained.counters) {
    std::printf("%.0f %.*s\n", counter.value, static_cast<int>(counter.name.size()),
                counter.name.data());
  }
  std::printf("dropped: %llu\n", static_cast<unsigned long long>(drained.dropped));
  return 0;
}
