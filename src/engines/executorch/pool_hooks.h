// Parallel regions of an unmodified ExecuTorch: its parallel_for, and every
// pthreadpool_parallelize_* that its libraries call.
//
// How: this room defines those functions. Where the plugin, or a program that is linked with it,
// brings ExecuTorch's libraries, the loader finds our definitions before those of
// libexecutorch_threadpool.so (as with backend_registration.h). Each forwards to the real one: at
// once while nobody looks, and with a task of ours around the real task otherwise. Other users of
// such a pool in the process, as torch, are bound to their own and never come here.
//
// A kernel's loop passes here twice, parallel_for > ThreadPool::run > pthreadpool_parallelize_1d:
// the outermost is the region.
//
// The rule that people break: callers were bound when their library was loaded. One that something
// else of the process had loaded before is not seen: UnhookedLibraries() names it, and then there
// are no regions at all, instead of some.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profile/metric.h"

namespace inferprobe::executorch_engine {

// What is seen of this process's loops in ExecuTorch, or why nothing is.
profile::Metric<std::string> RegionSources();

// The libraries of ExecuTorch whose loops do not come here, sorted.
std::vector<std::string> UnhookedLibraries();

// The functions that are defined here, by the loader's names for them.
struct HookedFunction {
  const char* name;
  const void* address;
};
std::span<const HookedFunction> HookedFunctions();

// The pool reports fewer threads while it runs a short loop, which another session may meet: from
// here on, `threads` of ExecuTorch's own pool is what its loops ask for. 0: not known.
void SetKnownPoolThreads(int threads);

}  // namespace inferprobe::executorch_engine
