// A process to be killed: record_and_wait FILE N records N scopes into a mapped file, says
// "recorded", and waits.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto recorder = inferprobe::Recorder::Start({.file = argv[1]});
  if (!recorder) {
    std::fprintf(stderr, "%s\n", recorder.error().message.c_str());
    return 1;
  }
  const int steps = std::atoi(argv[2]);
  INFERPROBE_SCOPE("never ends");
  for (int i = 0; i < steps; ++i) {
    INFERPROBE_SCOPE("step");
  }
  std::puts("recorded");
  std::fflush(stdout);
  for (;;) pause();
}
