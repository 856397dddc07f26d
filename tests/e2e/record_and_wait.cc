// A process to be killed: record_and_wait FILE N [MODEL]
//
// Records N scopes, or N inferences of the model with what is inside them, into a mapped file, says
// "recorded", and waits.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "inferprobe/session.h"

namespace {

int Fail(const inferprobe::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  inferprobe::RecorderOptions options;
  options.file = argv[1];
  auto recorder = inferprobe::Recorder::Start(options);
  if (!recorder) return Fail(recorder.error());
  const int steps = std::atoi(argv[2]);
  INFERPROBE_SCOPE("never ends");
  if (argc > 3) {
    inferprobe::RuntimeSessionOptions observed;
    observed.observe = true;
    auto session = inferprobe::RuntimeSession::Load(argv[3], observed);
    if (!session) return Fail(session.error());
    for (int i = 0; i < steps; ++i) {
      INFERPROBE_SCOPE("step");
      if (auto run = session->Run(); !run) return Fail(run.error());
    }
  } else {
    for (int i = 0; i < steps; ++i) {
      INFERPROBE_SCOPE("step");
    }
  }
  std::puts("recorded");
  std::fflush(stdout);
  for (;;) pause();
}
