// `perf`, as a function: plan, run workers, drain, analyse, write. The command line and the Python
// package are thin above it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "profile/result.h"

namespace inferprobe::measure {

struct PerfOptions {
  std::string model;   // a file, or FILE.py:FUNCTION (measure/model_name.h)
  std::string engine;  // "": by the file's content
  std::string method = "forward";
  std::vector<std::string> inputs;      // "name=file.npy", "0=file.npy" or "file.npy" in order
  std::vector<std::string> data_files;  // .ptd
  std::vector<std::string> shapes;      // "name=1x3x224x224"
  std::optional<uint64_t> seed;         // of random inputs; given, it also wins over a bundle's own
  std::optional<uint64_t> iterations;   // per process; fixes the length
  std::optional<double> duration_s;     // fixes the length
  uint64_t warmup = 10;
  uint32_t processes = 1;
  int threads = 0;                           // 0: the engine's default
  uint32_t ring_events = 0;                  // 0: 65,536, or more where regions are looked at
  std::string level = "delegate";            // off, delegate, phases, layers
  std::vector<std::string> delegate_levels;  // of one delegate alone: "openvino=layers"
  std::string profile_format = "etdump";     // etdump, perfetto, trex: where layers go
  std::string profile_path_prefix;           // folder of the files of perfetto and trex
  std::vector<std::string> delegates;        // "openvino=stock"
  std::string regions;                       // "": not looked at; else wall, busy or cpu
  std::string output;                        // result JSON; "": none
  std::string trace;                         // Perfetto
  std::string etdump;
  bool force = false;
  bool latency_only = false;     // no profiled runs
  std::string outputs_to;        // file for the bytes of the first run's outputs; "": none
  std::string outputs_expected;  // file that outputs_to wrote: the outputs are compared with it

  std::string worker_program;  // "": this program
  std::string python;          // that runs workers of engines in Python; "": the one that is found
  std::string run_id;          // "": random
};

// What happens, for a progress line. `done`/`total` count runs where they are known (total 0: open
// end); `phase` is "load", "warm up", "latency", "profile", "write".
struct Progress {
  std::string_view phase;
  uint32_t process = 0;
  uint32_t processes = 1;
  uint64_t done = 0;
  uint64_t total = 0;
  double seconds = 0;
  // Not empty: something that the user must know, said once, and nothing else is new.
  std::string_view notice = {};
};
using ProgressSink = std::function<void(const Progress&)>;

// Blocks until all is measured and written. `cancel`, if given, ends it early when it becomes true
// (the error is kCrashed, "interrupted"); what had been drained stays in `<trace>.partial`. An
// output that cannot be written at the end does not cost the result: see PerfResult::unwritten.
Result<profile::PerfResult> RunPerf(const PerfOptions& options, const ProgressSink& progress = {},
                                    const std::atomic<bool>* cancel = nullptr);

}  // namespace inferprobe::measure
