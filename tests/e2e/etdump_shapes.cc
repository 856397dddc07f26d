// Writes ETDumps of every odd shape, by ExecuTorch's own ETDumpGen: etdump_shapes FOLDER
//
// Times of delegates' operators are given (log_profiling_delegate), the others are those of the
// moment. tests/e2e/test_show.py reads the files.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

using executorch::etdump::ETDumpGen;
using executorch::runtime::EventTracerEntry;

std::string folder;

void Save(ETDumpGen& gen, const std::string& name) {
  const executorch::etdump::ETDumpResult dump = gen.get_etdump_data();
  std::FILE* file = std::fopen((folder + "/" + name + ".etdp").c_str(), "wb");
  if (file == nullptr) {
    std::perror(name.c_str());
    std::exit(1);
  }
  if (dump.size != 0) std::fwrite(dump.buf, 1, dump.size, file);
  std::fclose(file);
  std::free(dump.buf);
}

void Work(uint64_t ns) {
  const et_timestamp_t until = et_pal_current_ticks() + ns;
  while (et_pal_current_ticks() < until) {
  }
}

void Event(ETDumpGen& gen, const char* name) {
  const EventTracerEntry entry = gen.start_profiling(name);
  Work(1000);
  gen.end_profiling(entry);
}

// A run of two operators and a delegate that reports what `inside` logs.
template <typename Inside>
void Run(ETDumpGen& gen, Inside inside) {
  gen.create_event_block("Execute");
  const EventTracerEntry method = gen.start_profiling("Method::execute");
  for (const unsigned instruction : {0U, 1U}) {
    const EventTracerEntry call = gen.start_profiling("OPERATOR_CALL", 0, instruction);
    Work(20'000 + 80'000 * instruction);
    const EventTracerEntry kernel = gen.start_profiling("native_call_add.out", 0, instruction);
    Work(400'000 - 100'000 * instruction);
    gen.end_profiling(kernel);
    gen.end_profiling(call);
  }
  const EventTracerEntry call = gen.start_profiling("DELEGATE_CALL", 0, 2);
  Work(100'000);
  gen.set_chain_debug_handle(0, 2);
  inside(call.start_time);
  gen.set_chain_debug_handle(-1, 0);
  gen.end_profiling(call);
  gen.end_profiling(method);
}

void Log(ETDumpGen& gen, const char* name, int id, uint64_t start, uint64_t end,
         const std::string& metadata = "") {
  gen.log_profiling_delegate(name, id, start, end, metadata.data(), metadata.size());
}

constexpr int kNoId = -1;

// What the delegate kit writes: a pair of begin and end, with a note in its metadata.
class Noted {
 public:
  Noted(ETDumpGen& gen, const char* name, std::string note = R"({"kind":"host_wall"})")
      : gen_(gen), note_(std::move(note)), entry_(gen.start_profiling_delegate(name, kNoId)) {}
  ~Noted() { gen_.end_profiling_delegate(entry_, note_.data(), note_.size()); }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;

 private:
  ETDumpGen& gen_;
  std::string note_;
  EventTracerEntry entry_;
};

// A delegate's instruction, with what `inside` records of it.
template <typename Inside>
void DelegateCall(ETDumpGen& gen, unsigned instruction, Inside inside) {
  const EventTracerEntry call = gen.start_profiling("DELEGATE_CALL", 0, instruction);
  gen.set_chain_debug_handle(0, instruction);
  inside(call.start_time);
  gen.set_chain_debug_handle(-1, 0);
  gen.end_profiling(call);
}

// An unmodified delegate that is wrapped: it reports what it always did.
void WrappedXnnpack(ETDumpGen& gen, uint64_t at) {
  const Noted whole(gen, "xnnpackbackend.delegate");
  Work(90'000);
  Log(gen, "conv", kNoId, at + 10'000, at + 60'000);
  Log(gen, "pool", kNoId, at + 60'000, at + 90'000);
}

// All that the kit records, of an engine that keeps running means.
void LayeredOpenvino(ETDumpGen& gen, uint64_t at, int call) {
  {
    const Noted whole(gen, "openvino.delegate", R"({"kind":"host_wall","mode":"blocking"})");
    {
      const Noted phase(gen, "openvino.input_binding");
      Work(2000);
    }
    const Noted phase(gen, "openvino.infer_host");
    Work(100'000);
  }
  {
    const Noted report(
        gen, "openvino.layer_report",
        R"({"kind":"host_wall","unit_ns":1000,"calls":)" + std::to_string(call) + "}");
    Work(5000);
  }
  const std::string layer =
      R"({"kind":"engine_reported","of":"running_mean","type":"Convolution","exec":"jit_f32"})";
  Log(gen, "first \"layer\"", kNoId, at, at + 60'000, layer);
  Log(gen, "second layer", kNoId, at + 60'000, at + 100'000, layer);
}

void DeviceResult(ETDumpGen& gen, int call) {
  Log(gen, "torchtrt.device", kNoId, 5'000'000, 5'200'000 + 1000 * static_cast<uint64_t>(call),
      R"({"kind":"device","clock":"cuda event","engine":"0a1b","call":)" + std::to_string(call) +
          "}");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: etdump_shapes FOLDER\n", stderr);
    return 2;
  }
  folder = argv[1];
  executorch::runtime::runtime_init();
  {
    ETDumpGen gen;  // load, a run, a block without events
    gen.create_event_block("Default");
    Event(gen, "Program::load_method");
    Run(gen, [&](uint64_t at) {
      Log(gen, "conv", kNoId, at + 10'000, at + 60'000);
      Log(gen, "pool", kNoId, at + 60'000, at + 90'000);
    });
    gen.create_event_block("Execute");
    Save(gen, "two_blocks_one_empty");
  }
  {
    ETDumpGen gen;  // times that cannot be
    Run(gen, [&](uint64_t at) {
      Log(gen, "good", kNoId, at + 10'000, at + 60'000);
      Log(gen, "backwards", kNoId, at + 70'000, at + 60'000);
      Log(gen, "nowhere", kNoId, 0, 0);
    });
    EventTracerEntry late = gen.start_profiling("late");
    late.start_time += 1'000'000'000'000;
    gen.end_profiling(late);
    Save(gen, "times_that_cannot_be");
  }
  {
    ETDumpGen gen;  // identifiers by number, 0 among them, with metadata
    Run(gen, [&](uint64_t at) {
      Log(gen, nullptr, 0, at + 10'000, at + 40'000, "of zero");
      Log(gen, nullptr, 7, at + 40'000, at + 90'000);
    });
    Save(gen, "delegate_id_zero");
  }
  {
    ETDumpGen gen;
    for (int run = 0; run < 3; ++run) Run(gen, [](uint64_t) {});
    Save(gen, "no_inner_detail");
  }
  {
    ETDumpGen gen;  // a counter of the delegate's own, from 0 in each call
    for (int run = 0; run < 3; ++run) {
      Run(gen, [&](uint64_t) {
        Log(gen, "conv", kNoId, 5, 305);
        Log(gen, "pool", kNoId, 305, 405);
      });
    }
    Save(gen, "another_clock");
  }
  {
    ETDumpGen gen;  // allocations beside profile events
    gen.create_event_block("Execute");
    const auto allocator = gen.track_allocator("planned");
    Event(gen, "Method::execute");
    gen.track_allocation(allocator, 128);
    gen.track_allocation(allocator, 256);
    Save(gen, "allocations");
  }
  {
    ETDumpGen gen;  // as of a runtime without its tracer: blocks at most
    gen.create_event_block("Default");
    gen.create_event_block("Execute");
    Save(gen, "no_tracer_blocks");
  }
  {
    ETDumpGen gen;  // two delegates, with the events of the delegate kit
    gen.create_event_block("Default");
    const EventTracerEntry load = gen.start_profiling("Method::init");
    {
      const Noted delegate(gen, "openvino.delegate_load");
      Work(20'000);
    }
    gen.end_profiling(load);
    for (int run = 1; run <= 3; ++run) {
      gen.create_event_block("Execute");
      const EventTracerEntry method = gen.start_profiling("Method::execute");
      DelegateCall(gen, 0, [&](uint64_t at) { WrappedXnnpack(gen, at); });
      DelegateCall(gen, 1, [&](uint64_t at) { LayeredOpenvino(gen, at, run); });
      gen.end_profiling(method);
    }
    Save(gen, "two_delegates");
  }
  {
    ETDumpGen gen;  // calls that return early; a device's results come a call late, the last never
    for (int run = 1; run <= 4; ++run) {
      gen.create_event_block("Execute");
      const EventTracerEntry method = gen.start_profiling("Method::execute");
      DelegateCall(gen, 0, [&](uint64_t) {
        const Noted whole(gen, "torchtrt.delegate",
                          R"({"kind":"host_wall","mode":"asynchronous","engine":"0a1b","call":)" +
                              std::to_string(run) + "}");
        if (run > 1) DeviceResult(gen, run - 1);
        const Noted phase(gen, "torchtrt.enqueue_host");
        Work(10'000);
      });
      gen.end_profiling(method);
    }
    Save(gen, "late_device");
  }
  {
    ETDumpGen gen;
    Save(gen, "no_tracer");
  }
  return 0;
}
