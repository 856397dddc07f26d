// What the calling thread is at: which session's run, in which operator, inside which region. Set
// by sessions and tracers, read where a region begins.
//
// The rule that people break: who sets a member puts back what was there, on every way out.
#pragma once

#include <atomic>
#include <cstdint>

#include "inferprobe/api.h"

namespace inferprobe {
class ParallelRegionCollector;
}

namespace inferprobe::regions {

struct Frame;
struct Place;

// Regions of a session's runs that found no place in its collector, which others may share.
struct DropCount {
  const ParallelRegionCollector* collector = nullptr;
  std::atomic<uint64_t> count{0};
};

struct CurrentWork {
  // Who is told of regions that a runtime's own pool runs (src/engines/*); nullptr: nobody.
  ParallelRegionCollector* hooked = nullptr;
  uint64_t session_id = 0;
  uint64_t run_id = 0;
  DropCount* drops = nullptr;  // of that session; nullptr: nobody asks
  int32_t instruction = -1;
  // The region whose body this thread ran when the run, and the operator, began: inside of it what
  // is said here counts, and not what that region inherits.
  const Frame* run_inside = nullptr;
  const Frame* operator_inside = nullptr;
  // Of a chunk of a hooked pool: bodies that such a pool runs here are part of a region already.
  uint32_t depth = 0;
  // The region whose body this thread runs now; nullptr: none.
  Frame* inside = nullptr;
  // The region that this thread entered last, and its place there; nullptr: it found none.
  uint64_t entered_region = 0;
  Place* place = nullptr;
  int64_t thread_id = 0;     // 0: not asked yet
  bool in_callback = false;  // a collector's callback runs
};

#if defined(_WIN32)
extern constinit thread_local CurrentWork t_work;
#else
INFERPROBE_API extern constinit thread_local CurrentWork t_work
    __attribute__((tls_model("initial-exec")));
#endif

}  // namespace inferprobe::regions
