// What the calling thread is at: which session's run, in which operator, inside which region. Set
// by sessions and tracers, read where a region begins.
#pragma once

#include <cstdint>

#include "inferprobe/api.h"
#include "inferprobe/region.h"

namespace inferprobe::regions {

struct Frame;

struct CurrentWork {
  // Who is told of regions that a runtime's own pool runs (src/engines/*); nullptr: nobody.
  ParallelRegionCollector* hooked = nullptr;
  uint64_t session_id = 0;
  uint64_t run_id = 0;
  int32_t instruction = -1;
  // The region whose body this thread runs now, and its place in it.
  Frame* inside = nullptr;
  // Of a chunk of a hooked pool: bodies that such a pool runs here are part of a region already.
  uint32_t depth = 0;
};

#if defined(_WIN32)
extern constinit thread_local CurrentWork t_work;
#else
INFERPROBE_API extern constinit thread_local CurrentWork t_work
    __attribute__((tls_model("initial-exec")));
#endif

}  // namespace inferprobe::regions
