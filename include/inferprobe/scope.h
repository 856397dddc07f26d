// Scopes: time a block of code. Off they cost a load, a test and a jump; on, two clock readings and
// a 32-byte store into a ring of the calling thread.
//
//   #include <inferprobe/recorder.h>
//   #include <inferprobe/scope.h>
//
//   void Step() {
//     INFERPROBE_SCOPE("decode");       // until the end of the block
//     ...
//   }
//   int main() {
//     auto recorder = inferprobe::Recorder::Start({.file = "run.ring"});
//     Step();
//   }
//
// The rule that people break: a name is registered once per place in the code. It must be a string
// literal, or live and stay unchanged for as long as the process.
#pragma once

#include <atomic>
#include <cstdint>

#include "inferprobe/clock.h"

namespace inferprobe {

// One place in the code. Static storage only.
struct Site {
  const char* name;
  std::atomic<uint32_t> id{0};  // in the recorder's name table; 0: not registered yet
  constexpr explicit Site(const char* site_name) : name(site_name) {}
};

namespace internal {
struct ThreadRing;
INFERPROBE_API extern std::atomic<bool> g_recording;
// The calling thread's ring, nullptr until it records for the first time.
#if defined(_WIN32)
extern thread_local ThreadRing* t_ring;
#else
INFERPROBE_API extern thread_local ThreadRing* t_ring __attribute__((tls_model("initial-exec")));
#endif
}  // namespace internal

inline bool Recording() { return internal::g_recording.load(std::memory_order_relaxed); }
