// What is known about a model, its engine and the machine, apart from times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inferprobe/tensor.h"
#include "profile/metric.h"
#include "profile/modules.h"

namespace inferprobe::profile {

struct InputFacts {
  TensorSpec spec;
  std::string source;  // "seed 0", "x.npy", "bundled case 0"
};

struct DelegateFacts {
  uint32_t id = 0;          // ordinal in the program
  std::string backend;      // "XnnpackBackend"
  uint64_t blob_bytes = 0;  // processed data inside the program
  std::string engine_id;    // content hash and ordinal, stable across loads
};

struct ModelFacts {
  std::string path;
  std::string format;  // "executorch"
  std::string method;
  std::vector<std::string> methods;
  std::string sha256;
  uint64_t bytes = 0;
  std::vector<InputFacts> inputs;
  std::vector<TensorSpec> outputs;
  Metric<int64_t> instructions;
  std::vector<DelegateFacts> delegates;
  // Name of the operator of each instruction, index = instruction; "" where it is none.
  std::vector<std::string> instruction_names;
  // Index into `delegates` of each instruction, -1 where it calls none; empty: not known.
  std::vector<int32_t> instruction_delegates;
  ModuleFacts modules;
  std::vector<std::string> notes;  // how it is run, what is hidden in it
};

struct EngineFacts {
  std::string name;                   // "executorch"
  std::string title;                  // "ExecuTorch"
  std::string version;                // "1.5.1"
  std::vector<std::string> backends;  // registered
  Metric<int64_t> threads;
};

struct MemoryFacts {
  Metric<int64_t> planned_bytes;         // activations, sum of the planned buffers
  std::vector<int64_t> planned_buffers;  // each
  Metric<int64_t> method_allocations;    // number, at load
  Metric<int64_t> method_bytes;
  Metric<int64_t> run_allocations;  // temporary allocations of one run
  Metric<int64_t> run_bytes;
  Metric<int64_t> peak_rss_bytes;  // VmHWM of the worker
};

// CPUs that are alike, by name.
struct CoreType {
  std::string name;            // "performance", "efficient"; "all": they do not differ
  std::vector<uint32_t> cpus;  // ascending
};

struct EnvironmentFacts {
  std::string os;
  std::string kernel;
  std::string cpu;
  int64_t cpus = 0;  // this process may use
  int64_t cpus_online = 0;
  Metric<std::string> governor;
  Metric<double> load_average;
  Metric<int64_t> memory_bytes;
  std::vector<CoreType> core_types;  // fastest first; empty: not known
};

}  // namespace inferprobe::profile
