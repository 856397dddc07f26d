// The writing side of a ring, for code that publishes its own kinds of cells: an engine's tracer,
// the measuring loop. User code uses scopes (inferprobe/scope.h), which end up here too.
//
//   auto* ring = record::AttachThread();            // once per run
//   if (ring == nullptr) return;                    // nothing records
//   const auto slice = record::OpenSlice(ring);
//   const uint64_t start = NowTicks();
//   ...                                             // what is opened here has `slice` as parent
//   record::CloseSlice(ring, slice);
//   record::Publish(ring, {start, NowTicks(), name, slice.id, slice.parent,
//                          record::PackInfo(record::CellType::kKernel, instruction)});
//
// The rule that people break: a ThreadRing belongs to the thread that asked for it, and to the
// recorder that ran then. Ask again for each run; the answer costs a load and a compare.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "inferprobe/clock.h"
#include "inferprobe/ring.h"
#include "record/layout.h"

namespace inferprobe::record {

using internal::CloseSlice;
using internal::OpenedSlice;
using internal::OpenSlice;
using internal::Publish;
using internal::ThreadRing;

// All or nothing; the reader sees all at once.
inline bool PublishGroup(ThreadRing* ring, std::span<const Cell> cells) {
  return internal::PublishGroup(ring, cells.data(), cells.size());
}

// Id of `name` in the name table, interned now if it is new (takes a lock and may allocate: for
// slow paths, or once per name). The same in every later recorder of this process. 0 for "". A name
// that does not fit the recorder's table is counted there, and read back as "(name lost)".
INFERPROBE_API uint32_t InternName(std::string_view name);

// The calling thread's ring, attached now if it has none; nullptr while nothing records. A thread
// beyond max_threads gets a ring that takes nothing and counts every event in Header::no_ring.
inline ThreadRing* AttachThread() {
  const uint32_t generation = internal::inferprobe_generation.load(std::memory_order_relaxed);
  return generation == 0 ? nullptr : internal::RingOf(generation);
}

}  // namespace inferprobe::record
