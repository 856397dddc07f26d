// Runs the model at argv[1] once and says what came out.
#include <inferprobe/session.h>
#include <inferprobe/tensor.h>

#include <cstdio>

namespace {
int Fail(const inferprobe::Error& error) {
  std::fprintf(stderr, "%s: %s\n", inferprobe::ErrorCodeName(error.code), error.message.c_str());
  return 1;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto session = inferprobe::RuntimeSession::Load(argv[1]);
  if (!session) return Fail(session.error());
  if (auto run = session->Run(); !run) return Fail(run.error());
  auto outputs = session->Outputs();
  if (!outputs) return Fail(outputs.error());
  for (const inferprobe::Tensor& output : *outputs) {
    const auto elements = static_cast<size_t>(inferprobe::ElementCount(output.shape));
    std::printf("%s, %s\n", inferprobe::SpecText(output.type, output.shape).c_str(),
                output.data.size() == elements * inferprobe::ScalarTypeSize(output.type)
                    ? "all of it"
                    : "cut");
  }
  return 0;
}
