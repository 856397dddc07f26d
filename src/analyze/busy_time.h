// For how long two or more threads were busy at once: what is left of a wall time is serial.
#pragma once

#include <cstdint>
#include <span>

namespace inferprobe::analyze {

struct BusyInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Of intervals in any order, each of another thread where they overlap. An empty or negative one
// counts as none. n log n.
double TwoBusyNs(std::span<const BusyInterval> intervals);

}  // namespace inferprobe::analyze
