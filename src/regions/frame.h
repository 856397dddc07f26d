// A region while it runs: on the stack of the thread that called it, written by its participants,
// read by the caller when all have ended. For ParallelFor and for hooks of a runtime's own pool.
//
//   Frame frame;
//   BeginRegion(&frame, collector, what);  // ids, parent, clock
//   ...                                    // on each thread that takes part, for each chunk:
//     Chunk chunk(&frame);                 // the first one takes a place
//     task(...);                           // may throw: the chunk then ends with no iterations
//     chunk.Ran(iterations);               // 0: the pool does not tell
//   ...
//   frame.admitted = ...;                  // any time before EndRegion()
//   EndRegion(&frame);                     // clock; the collector gets the event. On all ways out,
//                                          // with frame.failed set where the body threw
//
// Nothing here allocates, locks or throws. How much a chunk costs depends on the collector's
// detail: kWall nothing but two stores; kBusy one reading of the clock, the first chunk of a thread
// two; kCpuClock the same, and a system call for the first chunk and for one every kCpuReadingNs.
//
// The rule that people break: between the last chunk of a participant and EndRegion() stands the
// pool's own synchronisation. A pool that a sanitizer does not see must tell it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "inferprobe/region.h"
#include "regions/current_work.h"

namespace inferprobe::regions {

constexpr size_t kMaxPlaces = 128;
constexpr uint64_t kNoCpuTime = UINT64_MAX;  // not read, or this system has no such clock

// A participant's CPU clock is read that often at most: a reading is a system call, and after each
// of many short chunks the calls would be all that is measured.
constexpr uint64_t kCpuReadingNs = 20'000;
// Its CPU time is one of what it was busy where the last reading leaves out no more than that.
constexpr double kMostBusyWithoutCpuTime = 0.05;

// A participant's part, on a cache line of its own.
struct alignas(64) Place {
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t iterations;
  uint64_t cpu_start_ns;  // kNoCpuTime: there is no such clock
  uint64_t cpu_end_ns;    // kNoCpuTime: not read again since
  uint64_t cpu_ticks;     // when it was read last
  int64_t thread_id;
  uint32_t chunks;
  uint32_t migrations;
  int32_t first_cpu;
  int32_t last_cpu;
};

// What the caller knows before it starts.
struct Described {
  std::string_view label{};
  std::source_location location{};
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
  int32_t admitted = 0;  // set by the pool
  bool nested_inline = false;
  bool failed = false;
  bool in_callback = false;  // of a collector, or inside a region that is
  uint64_t region_id = 0;
  uint64_t session_id = 0;
  uint64_t run_id = 0;
  DropCount* drops = nullptr;
  int32_t instruction = -1;
  uint32_t operator_slice = 0;  // 0: none
  int64_t thread_id = 0;
  const Frame* parent = nullptr;
  // What the calling thread had entered before: it may meet this region inside a chunk of another.
  uint64_t outer_region = 0;
  Place* outer_place = nullptr;
  uint64_t start_ticks = 0;
  uint64_t process_cpu_start_ns = 0;
  uint64_t cpu_reading_ticks = 0;        // kCpuReadingNs
  std::atomic<uint32_t> entered{0};      // may pass kMaxPlaces
  std::array<Place, kMaxPlaces> places;  // the first `entered` are filled; not initialised
};

// Whether the readings of its CPU clock tell what the participant did.
INFERPROBE_API Status CpuTimeStatus(const Place& place);

// Ids of threads are kept with them: from now on a forked child asks for its own.
void ForgetThreadsAtFork();

// Both on the calling thread. Precondition: a collector.
INFERPROBE_API void BeginRegion(Frame* frame, ParallelRegionCollector* collector,
                                const Described& what) noexcept;
INFERPROBE_API void EndRegion(Frame* frame) noexcept;

// The parts of Chunk that are not inline. From Enter() on, what this thread does in the region goes
// to a place of its own, t_work.place: nullptr when there is none left.
INFERPROBE_API void Enter(Frame* frame) noexcept;
INFERPROBE_API void EndChunk(Frame* frame, Place* place, uint64_t iterations) noexcept;

// One chunk of a region's body, on the thread that runs it.
class Chunk {
 public:
  explicit Chunk(Frame* frame) noexcept : frame_(frame), outer_(t_work.inside) {
    t_work.inside = frame;
    if (frame->detail == RegionDetail::kWall) return;
    if (t_work.entered_region != frame->region_id) Enter(frame);
    place_ = t_work.place;
  }
  void Ran(uint64_t iterations) noexcept { iterations_ = iterations; }
  ~Chunk() {
    if (place_ != nullptr) EndChunk(frame_, place_, iterations_);
    t_work.inside = outer_;
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

 private:
  Frame* frame_;
  Frame* outer_;
  Place* place_ = nullptr;
  uint64_t iterations_ = 0;
};

}  // namespace inferprobe::regions
