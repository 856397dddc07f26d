// A thread's ring as its writer sees it: the hot path under scopes, counters and engine tracers.
// User code includes inferprobe/scope.h; this header is the inside of it.
//
// The rule that people break: a ThreadRing belongs to the one thread that it was given to, and what
// OpenSlice() opened is closed on that thread, the innermost first.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "inferprobe/clock.h"

namespace inferprobe::record {

// One event, as it lies in the ring. What it means: CellType in record/layout.h.
struct Cell {
  uint64_t start;
  uint64_t end;
  uint32_t name;    // id in the name table; 0 is ""
  uint32_t id;      // unique in its ring, from 1; a slice's own
  uint32_t parent;  // id of the enclosing slice of the same ring; 0: none
  uint32_t info;    // CellType and 24 bits
};
static_assert(sizeof(Cell) == 32);

constexpr uint32_t kScopeInfo = 1U << 24;     // PackInfo(CellType::kScope, 0)
constexpr uint32_t kCounterInfo = 11U << 24;  // PackInfo(CellType::kCounter, 0)

}  // namespace inferprobe::record

namespace inferprobe::internal {

// Lies in the process's own memory, so that no reader can bend it. Stays valid until its thread
// ends, also after the recorder stopped: an open slice then ends in memory that nobody reads.
struct ThreadRing {
  record::Cell* cells = nullptr;
  uint64_t mask = 0;   // capacity - 1
  uint64_t head = 0;   // cells published so far
  uint64_t limit = 0;  // head may grow this far without a look at the reader's position
  std::atomic<uint64_t>* shared_head = nullptr;
  uint32_t next_id = 1;
  uint32_t current = 0;     // id of the innermost open slice, 0: none
  uint32_t generation = 0;  // of the recorder that it belongs to
  // Off the hot path: how far the reader is, and where events are counted that found no place.
  const std::atomic<uint64_t>* shared_tail = nullptr;
  std::atomic<uint64_t>* lost = nullptr;
};

// Which recorder runs: 0 is none, and every Start() takes the next number.
extern "C" INFERPROBE_API std::atomic<uint32_t> inferprobe_generation;

// The calling thread's ring; until it records for the first time, one that nothing fits. Constinit:
// without it every use would first ask whether there is something to initialise.
#if defined(_WIN32)
extern constinit thread_local ThreadRing* t_ring;
#else
INFERPROBE_API extern constinit thread_local ThreadRing* t_ring
    __attribute__((tls_model("initial-exec")));
#endif

// Slow paths, in the library.
// The calling thread's ring for the running recorder; nullptr while nothing records.
INFERPROBE_API ThreadRing* Attach() noexcept;
// Looks where the reader is. False: no room for `count` cells, which are counted as lost.
INFERPROBE_API bool MakeRoom(ThreadRing* ring, uint64_t count) noexcept;
INFERPROBE_API uint32_t RegisterName(const char* name) noexcept;

// Precondition: `generation` was read from inferprobe_generation and is not 0.
inline ThreadRing* RingOf(uint32_t generation) {
  ThreadRing* ring = t_ring;
  if (ring->generation != generation) [[unlikely]] {
    ring = Attach();
  }
  return ring;
}

struct OpenedSlice {
  uint32_t id;
  uint32_t parent;
};

// Takes a fresh id and makes it the parent of what follows.
inline OpenedSlice OpenSlice(ThreadRing* ring) {
  const OpenedSlice opened{ring->next_id++, ring->current};
  ring->current = opened.id;
  return opened;
}

inline void CloseSlice(ThreadRing* ring, OpenedSlice opened) { ring->current = opened.parent; }

// False: the ring is full, and the cell is counted as dropped. Never waits.
inline bool Publish(ThreadRing* ring, const record::Cell& cell) {
  const uint64_t head = ring->head;
  if (head == ring->limit) [[unlikely]] {
    if (!MakeRoom(ring, 1)) return false;
  }
  ring->cells[head & ring->mask] = cell;
  ring->head = head + 1;
  ring->shared_head->store(head + 1, std::memory_order_release);
  return true;
}

// All of the cells, which a reader sees at once, or none of them.
inline bool PublishGroup(ThreadRing* ring, const record::Cell* cells, uint64_t count) {
  const uint64_t head = ring->head;
  if (ring->limit - head < count) [[unlikely]] {
    if (!MakeRoom(ring, count)) return false;
  }
  for (uint64_t i = 0; i < count; ++i) ring->cells[(head + i) & ring->mask] = cells[i];
  ring->head = head + count;
  ring->shared_head->store(head + count, std::memory_order_release);
  return true;
}

}  // namespace inferprobe::internal
