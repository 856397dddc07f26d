// Loads a model into this process, runs it with its inside recorded, and prints what was recorded.
//
//   session samples/vision_portable.pte
#include <inferprobe/recorder.h>
#include <inferprobe/session.h>

#include <cstdio>

namespace {

int Fail(const inferprobe::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.message.c_str(), error.hint.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: session MODEL\n");
    return 2;
  }
  inferprobe::RuntimeSessionOptions options;
  options.observe = true;  // off by default: then Run() is the plain engine
  auto session = inferprobe::RuntimeSession::Load(argv[1], options);
  if (!session) return Fail(session.error());

  auto recorder = inferprobe::Recorder::Start();
  if (!recorder) return Fail(recorder.error());
  for (int i = 0; i < 3; ++i) {
    if (auto run = session->Run(); !run) return Fail(run.error());
  }
  const inferprobe::DrainedScopes drained = recorder->Drain();
  std::printf("%zu events of 3 runs, %llu dropped\n", drained.scopes.size(),
              static_cast<unsigned long long>(drained.dropped));
  for (const inferprobe::RecordedScope& scope : drained.scopes) {
    // What a delegate reports of itself is no host time: never add the two.
    const bool measured = scope.type != inferprobe::ScopeType::kDelegateOp;
    std::printf("  %8lld ns  %-15s %3d  %.*s\n", static_cast<long long>(scope.dur_ns),
                measured ? "host wall" : "engine-reported", scope.instruction,
                static_cast<int>(scope.name.size()), scope.name.data());
  }
  auto outputs = session->Outputs();
  if (!outputs) return Fail(outputs.error());
  std::printf("%zu outputs\n", outputs->size());
  return 0;
}
