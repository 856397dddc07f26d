// The calls of modules and operators of a recording as a forest: what is in what, and what each
// allocated and launched itself.
//
// The rule that people break: other slices may lie between two calls (a scope, the run): they are
// passed over, and their time is the call's around them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/model.h"
#include "profile/modules.h"

namespace inferprobe::analyze {

// What was allocated, and how long a device worked. Sums stay at their type's end.
struct ModuleAmounts {
  int64_t device_ns = 0;
  int64_t cpu_bytes = 0;     // allocated minus freed
  int64_t device_bytes = 0;  // of a device's memory
  int64_t allocated_bytes = 0;
  int64_t freed_bytes = 0;
  void Add(const ModuleAmounts& other);
};

struct ModuleCall {
  uint32_t parent = profile::kNone;  // index into the calls
  uint32_t module = profile::kNone;  // kNone: it is an operator's call
  profile::StringId name = 0;
  bool raised = false;
  bool seen = true;  // its operators and allocations would be here
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  ModuleAmounts own;  // of the call itself, not of calls inside
};

struct ModuleCalls {
  std::vector<ModuleCall> calls;  // each behind what it is in, with all that is inside it together
  std::string none_counted;       // why runs give no rows though there are such; "": they do
  uint64_t in_no_run = 0;         // calls of modules, beside runs that give rows
  int64_t unowned_device_ns = 0;  // of work that neither an operator nor a module launched
};

struct ModuleCallOptions {
  uint32_t modules = 0;  // how many there are: calls of others are passed over
  int64_t seen_thread = profile::ModuleFacts::kAllThreads;
  bool operators = false;  // else these are passed over, too
};

// Of the runs that give rows, where there are such, with what other threads did meanwhile; of the
// whole recording where not. O(n log runs).
ModuleCalls FindModuleCalls(const profile::Profile& profile, const ModuleCallOptions& options);

}  // namespace inferprobe::analyze
