// Whether this process may open hardware counters, without counting anything.
#pragma once

#include <string>

namespace inferprobe::base {

struct PerfEventProbe {
  int error = 0;     // errno of opening a cycles counter for this thread, user space only; 0: works
  std::string text;  // what it means and what to do; empty when it works
};
PerfEventProbe ProbePerfEvents();

}  // namespace inferprobe::base
