// For tests: a malloc that counts, in the place of the program's own. One source file of a program
// includes it, once.
//
// The rule that people break: sanitizers bring a malloc of their own; such a program is not built
// with them.
#pragma once

#if defined(__x86_64__)
#include <mm_malloc.h>  // declares posix_memalign in its own way: before ours
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace inferprobe::base {

inline std::atomic<uint64_t> g_allocations{0};

// How often memory was asked for while `body` ran, on any thread.
template <typename Body>
uint64_t Allocations(const Body& body) {
  const uint64_t before = g_allocations.load();
  body();
  return g_allocations.load() - before;
}

}  // namespace inferprobe::base

// Visible, so that shared libraries call these, too.
// NOLINTBEGIN(misc-definitions-in-headers): one file of a program includes it
#define INFERPROBE_COUNTED __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT: glibc's
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT
void* __libc_realloc(void* old, size_t bytes);          // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT

INFERPROBE_COUNTED void* malloc(size_t bytes) noexcept {
  inferprobe::base::g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
INFERPROBE_COUNTED void* calloc(size_t count, size_t bytes) noexcept {
  inferprobe::base::g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
INFERPROBE_COUNTED void* realloc(void* old, size_t bytes) noexcept {
  inferprobe::base::g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
INFERPROBE_COUNTED int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  inferprobe::base::g_allocations.fetch_add(1, std::memory_order_relaxed);
  *block = __libc_memalign(alignment, bytes);
  return *block == nullptr ? 12 : 0;
}
}
#undef INFERPROBE_COUNTED
// NOLINTEND(misc-definitions-in-headers)
