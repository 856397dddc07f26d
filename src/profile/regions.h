// What is known of a parallel region beside its slice: facts of the loop, and of each thread that
// took part. The slice has its time, its label as name, and the instruction that it ran in.
//
// The rule that people break: a figure that has a status is there only where that is kValid.
#pragma once

#include <cstdint>

#include "inferprobe/status.h"

namespace inferprobe::profile {

// Of a slice of Category::kRegion. Names are StringIds; 0: not known.
struct Region {
  uint64_t id = 0;      // unique in its process, from 1
  uint64_t parent = 0;  // id of the region that it was called in; 0: none
  uint64_t session = 0;
  uint64_t run = 0;
  uint32_t executor = 0;  // 0: the runtime's own pool
  uint32_t file = 0;
  uint32_t function = 0;
  uint32_t line = 0;
  uint32_t code = 0;  // the loop's body, where the runtime gives nothing else: "libx.so+0x12"
  int64_t iterations = 0;
  int64_t grain = 0;
  int32_t requested = 0;
  int32_t admitted = 0;
  int32_t observed = 0;
  uint32_t participants_dropped = 0;
  uint64_t process_cpu_ns = 0;
  Status process_cpu_status = Status::kNotRequested;
  Status participants_status = Status::kNotRequested;
  bool nested_inline = false;
  bool failed = false;
};

// Of a slice of Category::kRegionPart: busy from the start of its first chunk to the end of its
// last. Its track's tid is the thread.
struct RegionPart {
  uint32_t region = 0;      // index into Profile::regions
  uint64_t iterations = 0;  // 0: the pool does not tell
  uint32_t chunks = 0;
  uint32_t migrations = 0;  // seen from chunk to chunk: a lower bound
  int32_t first_cpu = -1;   // -1: not known
  int32_t last_cpu = -1;
  uint64_t cpu_ns = 0;  // of its thread's CPU clock
  Status cpu_status = Status::kNotRequested;
};

}  // namespace inferprobe::profile
