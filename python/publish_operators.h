// What torch's profiler recorded in a run of a worker, as cells of that run (record/layout.h,
// kOperator and what follows it).
//
// The rule that people break: a cell of device work counts the operators of its run. So either all
// operators of a run are published, or what is left is counted as dropped.
#pragma once

#include <optional>

#include "record/ring_writer.h"
#include "recording.h"

namespace inferprobe::python {

// By how much their times may be off, in ns; nullopt: torch's clock and ours never agreed, and
// nothing is published.
std::optional<double> PublishOperators(const OperatorColumns& columns, record::ThreadRing* ring);

}  // namespace inferprobe::python
