// Writes an ETDump as ExecuTorch does, by its own ETDumpGen: etdump_make FILE EVENTS [SHAPE]
//
// Runs of 40 events: operators with their kernels, and a delegate that reports its own. With
// --distinct every operator has a name of its own, in one run for all; with --run-each every run
// has one operator, whose name no other has: what must not take quadratic time to load. With
// --layers a delegate reports that many layers in each of three runs, as the delegate kit notes
// them; with --device-calls it returns early in that many runs, and its device answers a call late.
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

constexpr executorch::runtime::DelegateDebugIntId kNoId = -1;

void Log(ETDumpGen& gen, const std::string& name, uint64_t start, uint64_t ns,
         const std::string& note) {
  gen.log_profiling_delegate(name.c_str(), kNoId, start, start + ns, note.data(), note.size());
}

// What the kit records of one call, and `inside` of its insides.
template <typename Inside>
void AddNotedCall(ETDumpGen& gen, const std::string& note, Inside inside) {
  gen.create_event_block("Execute");
  const EventTracerEntry method = gen.start_profiling("Method::execute");
  const EventTracerEntry call = gen.start_profiling("DELEGATE_CALL", 0, 0);
  gen.set_chain_debug_handle(0, 0);
  EventTracerEntry whole = gen.start_profiling_delegate("x.delegate", kNoId);
  gen.end_profiling_delegate(whole, note.data(), note.size());
  inside(call.start_time);
  gen.set_chain_debug_handle(-1, 0);
  gen.end_profiling(call);
  gen.end_profiling(method);
}

void AddLayers(ETDumpGen& gen, unsigned layers) {
  for (unsigned run = 1; run <= 3; ++run) {
    AddNotedCall(gen, R"({"kind":"host_wall","mode":"blocking"})", [&](uint64_t at) {
      const EventTracerEntry report = gen.start_profiling_delegate("x.layer_report", kNoId);
      const std::string calls =
          R"({"kind":"host_wall","unit_ns":1000,"calls":)" + std::to_string(run) + "}";
      gen.end_profiling_delegate(report, calls.data(), calls.size());
      for (unsigned i = 0; i < layers; ++i) {
        Log(gen, "layer" + std::to_string(i), at, 5000,
            R"({"kind":"engine_reported","of":"running_mean","type":"t)" + std::to_string(i) +
                R"("})");
      }
    });
  }
}

void AddDeviceCalls(ETDumpGen& gen, unsigned calls) {
  const auto number = [](unsigned call) { return R"("call":)" + std::to_string(call) + "}"; };
  for (unsigned call = 1; call <= calls; ++call) {
    AddNotedCall(gen, R"({"kind":"host_wall","mode":"asynchronous",)" + number(call),
                 [&](uint64_t at) {
                   if (call == 1) return;
                   Log(gen, "x.device", at, 5000,
                       R"({"kind":"device","clock":"cuda event",)" + number(call - 1));
                 });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view shape = argc == 4 ? argv[3] : "";
  const bool known = shape == "--distinct" || shape == "--run-each" || shape == "--layers" ||
                     shape == "--device-calls";
  if (argc < 3 || argc > 4 || (argc == 4 && !known)) {
    std::fputs("usage: etdump_make FILE EVENTS [--distinct|--run-each|--layers|--device-calls]\n",
               stderr);
    return 2;
  }
  const auto events = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  executorch::runtime::runtime_init();
  // Ticks count from here; starts are moved back by up to a millisecond.
  while (et_pal_current_ticks() < 2'000'000) {
  }
  ETDumpGen gen;
  if (shape == "--layers") {
    AddLayers(gen, events / 2);
  } else if (shape == "--device-calls") {
    AddDeviceCalls(gen, events / 2);
  } else if (argc == 4) {
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
