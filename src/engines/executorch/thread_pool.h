// The size of ExecuTorch's thread pool. The wheel exports the pool but ships no header for it, so
// it is reached by its symbols.
//
// The rule that people break: there is one pool for the process, and delegates keep a pointer to it
// from when they were initialised. Set its size before the first program is loaded.
#pragma once

#include <cstdint>

#include "inferprobe/result.h"
#include "profile/metric.h"

namespace inferprobe::executorch_engine {

// Counts the programs that hold on to the pool.
class PoolUser {
 public:
  PoolUser();
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;
  ~PoolUser();
};

// Sets the number of threads, the caller's among them. Fails with kUnsupported where the pool
// cannot be reached, or where a loaded program uses it with another size.
Result<void> SetPoolThreads(int threads);

profile::Metric<int64_t> PoolThreads();

}  // namespace inferprobe::executorch_engine
