// The module tree of a PyTorch model, and what was measured of each module.
//
// The rule that people break: every time belongs to the innermost module that was running. So for
// each row, to the nanosecond,
//
//   total_ns = self_ns + operators_ns + children_ns
//
// where self is in the module's own code, operators in what it called itself, children in other
// modules below it. A module that calls itself counts once in its total, so the mean of a call is
// total_ns / outermost_calls. Of one that ran where operators were not seen
// (ModuleFacts::seen_thread), nobody knows what of that is self.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/metric.h"

namespace inferprobe::profile {

// One module object, known by its identity: it may have several paths.
struct Module {
  std::string path;               // "features.3"; "" at the root
  std::vector<std::string> also;  // its other paths
  std::string class_name;         // "Conv2d"
  uint32_t parent = 0xFFFFFFFF;   // index; kNone at the root
  uint64_t parameters = 0;        // of the module itself
  bool chosen = true;             // false: only there because a chosen one is below it
  std::string not_covered;        // why its calls cannot be seen; "": they can
};

// What was not seen, and why.
struct NotCovered {
  std::string what;
  std::string why;
};

// How a model's modules were looked at.
struct ModuleFacts {
  std::vector<Module> tree;  // parents before their children; empty: no model with modules
  // Whether these were recorded (the value is true), or why not.
  Metric<bool> operators{Status::kNotRequested, ""};
  Metric<bool> memory{Status::kNotRequested, ""};
  Metric<bool> device{Status::kNotRequested, ""};
  // The system's thread that alone was seen of operators and memory; kAllThreads: each was.
  static constexpr int64_t kAllThreads = -1;
  int64_t seen_thread = kAllThreads;
  Metric<double> clock_error_ns;  // how far the framework's times may be off from the modules'
  std::vector<NotCovered> not_covered;
};

// The operators of one name that a module called itself, wherever inside each other.
struct ModuleOperator {
  std::string name;
  uint64_t calls = 0;
  int64_t self_ns = 0;   // without the operators and modules inside
  int64_t total_ns = 0;  // with them; one inside another of its name counts once
  Metric<int64_t> self_device_ns, total_device_ns;
  Metric<int64_t> self_cpu_bytes, total_cpu_bytes;  // allocated minus freed
  Metric<int64_t> self_device_bytes, total_device_bytes;
};

struct ModuleRow {
  uint32_t module = 0;  // index into ModuleFacts::tree
  Module facts;
  uint32_t depth = 0;
  uint64_t calls = 0;
  uint64_t outermost_calls =
      0;                    // of which not inside a call of the same module: the total is theirs
  uint64_t raised = 0;      // of which ended by an exception
  Metric<int64_t> self_ns;  // all host wall
  Metric<int64_t> operators_ns;
  Metric<int64_t> children_ns;
  Metric<int64_t> total_ns;
  Metric<double> share;  // of the time in all modules
  // On the device, of the work that was launched from here. "Self" here and below: not from a
  // module inside; it includes the module's own operators, which alone launch work and allocate.
  Metric<int64_t> self_device_ns, total_device_ns;
  Metric<int64_t> self_cpu_bytes, total_cpu_bytes;  // allocated minus freed
  Metric<int64_t> self_device_bytes, total_device_bytes;
  Metric<int64_t> allocated_bytes, freed_bytes;  // in all, of both memories, with what is inside
  std::vector<ModuleOperator> operators;         // by the start of the first call
};

struct ModuleReport {
  std::vector<ModuleRow> rows;  // in the order of the tree
  int64_t total_ns = 0;         // in outermost calls of modules, over all threads
  int64_t outside_ns = 0;       // in operators that no module called
  std::vector<ModuleOperator> outside;
  ModuleFacts facts;  // without the tree, which is in the rows
};

}  // namespace inferprobe::profile
