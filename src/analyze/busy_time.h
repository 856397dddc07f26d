// For how long two or more threads were busy at once: what is left of a wall time is serial.
#pragma once

#include <cstdint>
#include <span>

namespace inferprobe::analyze {

struct BusyInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t thread = 0;  // 0: not known, and no other interval's
};

// Of intervals in any order; a thread that has several at once, as it is in a region inside
// another, is one thread. An empty or negative one counts as none. n log n.
double TwoBusyNs(std::span<const BusyInterval> intervals);

}  // namespace inferprobe::analyze
