// Writes an ETDump as ExecuTorch does, by its own ETDumpGen: etdump_make FILE EVENTS [SHAPE]
//
// Runs of 40 events: operators with their kernels, and a delegate that reports its own. With
// --distinct every operator has a name of its own, in one run for all; with --run-each every run
// has one operator, whose name no other has: what must not take quadratic time to load.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using executorch::etdump::ETDumpGen;
using executorch::runtime::EventTracerEntry;

constexpr unsigned kOperators = 12;  // of a run; each with a kernel
constexpr unsigned kDelegateOps = 14;
constexpr unsigned kRunEvents = 2 * kOperators + kDelegateOps + 2;

// An operator's call and its kernel. Times are those of the moment, moved apart.
void AddOperator(ETDumpGen& gen, const char* kernel_name, unsigned instruction) {
  EventTracerEntry call = gen.start_profiling("OPERATOR_CALL", 0, instruction);
  call.start_time -= 400;
  EventTracerEntry kernel = gen.start_profiling(kernel_name, 0, instruction);
  kernel.start_time -= 200;
  gen.end_profiling(kernel);
  gen.end_profiling(call);
}

void AddRun(ETDumpGen& gen) {
  gen.create_event_block("Execute");
  EventTracerEntry method = gen.start_profiling("Method::execute");
  method.start_time -= 1'000'000;
  for (unsigned i = 0; i < kOperators; ++i) {
    AddOperator(gen, ("native_call_op" + std::to_string(i) + ".out").c_str(), i);
  }
  EventTracerEntry call = gen.start_profiling("DELEGATE_CALL", 0, kOperators);
  call.start_time -= 100'000;
  gen.set_chain_debug_handle(0, kOperators);
  for (unsigned i = 0; i < kDelegateOps; ++i) {
    const std::string name = "Convolution (NHWC, F32) IGEMM #" + std::to_string(i);
    gen.log_profiling_delegate(name.c_str(), executorch::runtime::DelegateDebugIntId{-1},
                               call.start_time + i * 5'000, call.start_time + i * 5'000 + 4'000,
                               nullptr, 0);
  }
  gen.set_chain_debug_handle(-1, 0);
  gen.end_profiling(call);
  gen.end_profiling(method);
}

void AddDistinct(ETDumpGen& gen, unsigned operators, bool run_each) {
  if (!run_each) gen.create_event_block("Execute");
  EventTracerEntry method = gen.start_profiling("Method::execute");
  for (unsigned i = 0; i < operators; ++i) {
    if (run_each) {
      gen.create_event_block("Execute");
      method = gen.start_profiling("Method::execute");
      method.start_time -= 10'000;
    }
    AddOperator(gen, ("native_call_op" + std::to_string(i) + ".out").c_str(), i);
    if (run_each) gen.end_profiling(method);
  }
  if (!run_each) gen.end_profiling(method);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view shape = argc == 4 ? argv[3] : "";
  if (argc < 3 || argc > 4 || (argc == 4 && shape != "--distinct" && shape != "--run-each")) {
    std::fputs("usage: etdump_make FILE EVENTS [--distinct|--run-each]\n", stderr);
    return 2;
  }
  const auto events = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  executorch::runtime::runtime_init();
  // Ticks count from here; starts are moved back by up to a millisecond.
  while (et_pal_current_ticks() < 2'000'000) {
  }
  ETDumpGen gen;
  if (argc == 4) {
    AddDistinct(gen, events / 2, shape == "--run-each");
  } else {
    for (unsigned i = 0; i < events; i += kRunEvents) AddRun(gen);
  }
  const executorch::etdump::ETDumpResult dump = gen.get_etdump_data();
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr || std::fwrite(dump.buf, 1, dump.size, file) != dump.size ||
      std::fclose(file) != 0) {
    std::perror(argv[1]);
    return 1;
  }
  std::free(dump.buf);
  return 0;
}
