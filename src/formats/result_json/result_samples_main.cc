// result_samples DIR: writes every made-up result as DIR/<name>.json. For the tests of readers.
#include <cstdio>

#include "base/atomic_file.h"
#include "formats/result_json/result_json.h"
#include "formats/result_json/result_samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: result_samples DIR\n");
    return 2;
  }
  for (const auto& sample : inferprobe::result_json::ResultSamples()) {
    const std::string path = std::string(argv[1]) + "/" + sample.name + ".json";
    const auto written = inferprobe::base::WriteFileAtomically(
        path, inferprobe::result_json::WriteResultJson(sample.result),
        inferprobe::base::Overwrite::kForce);
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
