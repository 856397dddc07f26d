// A runner of ExecuTorch as others write one: its own tracer (an ETDump), no option of ours. With
// our OpenVINO delegate registered first, for tests/e2e/test_delegates.py.
//
//   run_program PROGRAM.pte [RUNS [ETDUMP]]      prints {"events": [names of delegate events]}
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "inferprobe/config.h"

extern "C" int inferprobe_register_openvino_delegate();  // NOLINT(readability-identifier-naming)

namespace {

namespace et = ::executorch::runtime;
namespace ext = ::executorch::extension;

class ListingEtdump final : public ::executorch::etdump::ETDumpGen {
 public:
  et::EventTracerEntry start_profiling_delegate(const char* name,
                                                et::DelegateDebugIntId id) override {
    if (executing) names.emplace_back(name);
    return ETDumpGen::start_profiling_delegate(name, id);
  }
  std::vector<std::string> names;
  bool executing = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 1;
  if (const int refused = inferprobe_register_openvino_delegate(); refused != 0) {
    std::fprintf(stderr, "the delegate is refused: 0x%x\n", static_cast<unsigned>(refused));
    return 1;
  }
  auto tracer = std::make_unique<ListingEtdump>();
  ListingEtdump* etdump = tracer.get();
  ext::Module module(argv[1], ext::Module::LoadMode::Mmap, std::move(tracer));
  if (const et::Error error = module.load_forward(); error != et::Error::Ok) {
    std::fprintf(stderr, "0x%x: %s\n", static_cast<unsigned>(error),
                 inferprobe::LastDelegateError().c_str());
    return 1;
  }
  const auto meta = module.method_meta("forward");
  std::vector<et::EValue> inputs;
  std::vector<ext::TensorPtr> tensors;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    std::vector<::executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
    tensors.push_back(ext::zeros(sizes, info->scalar_type()));
    inputs.emplace_back(tensors.back());
  }
  etdump->executing = true;
  for (int i = 0; i < runs; ++i) {
    if (!module.forward(inputs).ok()) return 1;
  }
  std::string list;
  for (const std::string& name : etdump->names) {
    list += (list.empty() ? "\"" : ", \"") + name + "\"";
  }
  std::printf("{\"events\": [%s]}\n", list.c_str());
  return 0;
}
