#include <inferprobe/recorder.h>
#include <inferprobe/scope.h>

#include <cstdio>

int main() {
  auto recorder = inferprobe::Recorder::Start();
  if (!recorder) {
    std::fprintf(stderr, "%s: %s\n", inferprobe::ErrorCodeName(recorder.error().code),
                 recorder.error().message.c_str());
    return 1;
  }
  for (int i = 0; i < 3; ++i) {
    INFERPROBE_SCOPE("step");
  }
  std::printf("%zu scopes\n", recorder->Drain().scopes.size());
  return 0;
}
