// The writing side of a ring, for code that publishes its own kinds of cells: an engine's tracer,
// the measuring loop. User code uses scopes (inferprobe/scope.h), which end up here too.
//
// The rule that people break: a RingWriter belongs to the thread that asked for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "inferprobe/clock.h"
#include "inferprobe/scope.h"
#include "record/layout.h"

namespace inferprobe::record {

// Id of `name` in the recorder's name table, interned now if it is new (takes a lock; for slow
// paths, or once per name). 0 if the table is full (counted) or `name` is "".
INFERPROBE_API uint32_t InternName(std::string_view name);

// The calling thread's ring, attached now if it has none; nullptr while nothing records, or when
// there are more threads than rings (then every call counts one event in Header::no_ring).
INFERPROBE_API internal::ThreadRing* AttachThread();

}  // namespace inferprobe::record
