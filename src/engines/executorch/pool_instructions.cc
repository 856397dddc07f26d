// Bodies for callgrind to count, for tests/e2e/test_regions.py:
//
//   pool_instructions hooked|real N        N loops of one iteration, without a pool
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engines/executorch/pool_hooks.h"

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void pthreadpool_parallelize_1d(void* pool, void* task, void* context, size_t range,
                                           uint32_t flags);

namespace {
using Loop = void (*)(void*, void*, void*, size_t, uint32_t);

void Task(void* count, size_t /*index*/) { ++*static_cast<uint64_t*>(count); }

Loop RealLoop() {
  void* library = dlopen("libexecutorch_threadpool.so", RTLD_NOLOAD | RTLD_NOW);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Loop>(dlsym(library, "pthreadpool_parallelize_1d"));
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // Linked with the hooks, as the engine is.
  if (inferprobe::executorch_engine::HookedFunctions().empty()) return 1;
  const bool hooked = std::strcmp(argv[1], "hooked") == 0;
  const Loop volatile loop = hooked ? &pthreadpool_parallelize_1d : RealLoop();
  uint64_t count = 0;
  const uint64_t n = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t i = 0; i < n; ++i) loop(nullptr, reinterpret_cast<void*>(&Task), &count, 1, 0);
  return count == n ? 0 : 1;
}
