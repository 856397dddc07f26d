// A region while it runs: on the stack of the thread that called it, written by its participants,
// read by the caller when all have ended.
//
//   Frame frame;
//   BeginRegion(&frame, collector, what);            // ids, parent, clock
//   ...                                              // on each thread that takes part:
//   Place* place = EnterRegion(&frame);              // its first chunk; nullptr: no place left
//   EndChunk(place, iterations);                     // after each chunk
//   ...
//   EndRegion(&frame);                               // clock; the collector gets the event
//
// The rule that people break: between the last EndChunk() of a participant and EndRegion() stands
// the pool's own synchronisation. A pool that a sanitizer does not see must tell it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "inferprobe/clock.h"
#include "inferprobe/region.h"
#include "regions/current_work.h"

namespace inferprobe::regions {

constexpr size_t kMaxPlaces = 128;

// A participant's part, on a cache line of its own.
struct alignas(64) Place {
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t iterations;
  uint64_t cpu_start_ns;
  uint64_t cpu_end_ns;
  int64_t thread_id;
  uint32_t chunks;
  uint32_t migrations;
  int32_t first_cpu;
  int32_t last_cpu;
};

// What the caller knows before it starts.
struct Described {
  std::string_view label;
  std::source_location location;
  int64_t iterations = 0;
  int64_t grain = 0;
  int32_t requested = 0;
  uint64_t executor_id = 0;
  const void* code = nullptr;
};

struct Frame {
  ParallelRegionCollector* collector = nullptr;
  RegionDetail detail = RegionDetail::kBusy;
  Described what;
  int32_t admitted = 0;  // set by the pool before the first chunk
  bool nested_inline = false;
  bool failed = false;
  uint64_t region_id = 0;
  uint64_t session_id = 0;
  uint64_t run_id = 0;
  int32_t instruction = -1;
  uint32_t operator_slice = 0;  // 0: none
  int64_t thread_id = 0;
  Frame* parent = nullptr;
  uint64_t start_ticks = 0;
  uint64_t process_cpu_start_ns = 0;
  std::atomic<uint32_t> entered{0};      // may pass kMaxPlaces
  std::array<Place, kMaxPlaces> places;  // the first `entered` are filled; not initialised
};

}  // namespace inferprobe::regions
