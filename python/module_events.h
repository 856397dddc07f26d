// Operators by the call of the module that they ran in: what `prof.raw()` gives to programs.
//
// The rule that people break: an operator is of the innermost module around it, and of no other.
// All the operators of a parent are its own and those of its children.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/model.h"

namespace inferprobe::python {

// Columns, one entry for each operator, sorted by module, call and start.
struct ModuleEvents {
  std::vector<uint32_t> module;
  std::vector<uint32_t> call;   // of the module, by start
  std::vector<uint32_t> name;   // index into `names`
  std::vector<uint32_t> depth;  // operators around it, up to the module
  std::vector<int64_t> start_ns, dur_ns, thread_id;
  std::vector<int64_t> self_ns;  // without the operators and modules inside
  // Allocated minus freed, with what is inside.
  std::vector<int64_t> bytes, device_bytes;
  std::vector<std::string> names;
  std::vector<uint32_t> calls;  // of each module
};

// `modules`: size of the tree that the profile's calls refer to.
ModuleEvents EventsOf(const profile::Profile& profile, uint32_t modules);

}  // namespace inferprobe::python
