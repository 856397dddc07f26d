// How much this machine can hold at all: what a program asks for beyond that is refused in words,
// before anything is reserved or read.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace inferprobe::executorch_engine {

inline int64_t MachineMemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace inferprobe::executorch_engine
