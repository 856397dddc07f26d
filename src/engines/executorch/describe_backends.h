// What can be seen of each backend that is registered in this process: for `inferprobe doctor`.
//
// The rule that people break: a backend's name says nothing about what is seen of it. What counts
// is who was there first: one that was registered before this room was loaded is not wrapped.
#pragma once

#include <vector>

#include "measure/engine.h"

namespace inferprobe::executorch_engine {

// Sorted by name. Registers what is ours first.
std::vector<measure::BackendDescription> DescribeBackends();

}  // namespace inferprobe::executorch_engine
