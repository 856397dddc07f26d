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
#include "inferprobe/ring.h"

#define INFERPROBE_ALWAYS_INLINE __attribute__((always_inline))

namespace inferprobe {

// True while a recorder runs in this process.
inline bool Recording() {
  return internal::inferprobe_generation.load(std::memory_order_relaxed) != 0;
}

// One place in the code. Static storage only.
struct Site {
  const char* name;
  std::atomic<uint32_t> id{0};  // in the recorder's name table; 0: not registered yet
  constexpr explicit Site(const char* site_name) : name(site_name) {}
};

namespace internal {
inline uint32_t NameOf(Site& site) {
  // Acquire: the name is in the table before any cell that carries its id.
  const uint32_t id = site.id.load(std::memory_order_acquire);
  if (id != 0) [[likely]]
    return id;
  const uint32_t registered = RegisterName(site.name);
  site.id.store(registered, std::memory_order_release);
  return registered;
}
}  // namespace internal

#if defined(__GNUC__) && !defined(__clang__)
// The members below are set where ring_ is; g++ does not follow that through code in between.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Records from here to the end of the block, if a recorder runs now.
class Scope {
 public:
  INFERPROBE_ALWAYS_INLINE explicit Scope(Site& site) {
    const uint32_t generation = internal::inferprobe_generation.load(std::memory_order_relaxed);
    if (generation != 0) [[unlikely]]
      Begin(site, generation);
  }
  INFERPROBE_ALWAYS_INLINE ~Scope() {
    if (ring_ != nullptr) [[unlikely]]
      End();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  // Inline, so that the object lives in registers: called functions would need its address, and the
  // disabled path would write and read it in memory.
  INFERPROBE_ALWAYS_INLINE void Begin(Site& site, uint32_t generation) {
    internal::ThreadRing* ring = internal::RingOf(generation);
    if (ring == nullptr) return;
    name_ = internal::NameOf(site);
    slice_ = internal::OpenSlice(ring);
    ring_ = ring;
    start_ = NowTicks();  // last: what stands above is not the block's time
  }
  INFERPROBE_ALWAYS_INLINE void End() {
    const uint64_t end = NowTicks();
    internal::CloseSlice(ring_, slice_);
    internal::Publish(ring_, {start_, end, name_, slice_.id, slice_.parent, record::kScopeInfo});
  }

  internal::ThreadRing* ring_ = nullptr;
  uint64_t start_;
  uint32_t name_;
  internal::OpenedSlice slice_;
};

// Scopes that follow each other without a gap: one clock reading ends one and starts the next.
//
//   static constinit inferprobe::Site load("load"), compute("compute");
//   inferprobe::Chain phase(load);
//   ...
//   phase.Next(compute);
//   ...                               // the end of the block ends "compute"
class Chain {
 public:
  explicit Chain(Site& first) {
    const uint32_t generation = internal::inferprobe_generation.load(std::memory_order_relaxed);
    if (generation != 0) [[unlikely]]
      Begin(first, generation);
  }
  ~Chain() {
    if (ring_ != nullptr) [[unlikely]] {
      Finish(NowTicks());
      internal::CloseSlice(ring_, slice_);
    }
  }
  void Next(Site& site) {
    if (ring_ != nullptr) [[unlikely]] {
      const uint64_t now = NowTicks();
      Finish(now);
      name_ = internal::NameOf(site);
      slice_.id = ring_->next_id++;
      ring_->current = slice_.id;
      start_ = now;
    }
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

 private:
  void Begin(Site& site, uint32_t generation) {
    internal::ThreadRing* ring = internal::RingOf(generation);
    if (ring == nullptr) return;
    name_ = internal::NameOf(site);
    slice_ = internal::OpenSlice(ring);
    ring_ = ring;
    start_ = NowTicks();
  }
  void Finish(uint64_t end) {
    internal::Publish(ring_, {start_, end, name_, slice_.id, slice_.parent, record::kScopeInfo});
  }

  internal::ThreadRing* ring_ = nullptr;
  uint64_t start_;
  uint32_t name_;
  internal::OpenedSlice slice_;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// A value at this moment, drawn as a counter of that name.
INFERPROBE_API void PublishCounter(Site& site, double value) noexcept;
inline void RecordCounter(Site& site, double value) {
  if (Recording()) [[unlikely]]
    PublishCounter(site, value);
}

}  // namespace inferprobe

#define INFERPROBE_JOIN2(a, b) a##b
#define INFERPROBE_JOIN(a, b) INFERPROBE_JOIN2(a, b)

// Times the rest of the block under a string literal. (The object is not const: g++ 12 would keep
// it in memory then, and the disabled path would be 7 instructions.)
#define INFERPROBE_SCOPE(literal)                                                              \
  static constinit ::inferprobe::Site INFERPROBE_JOIN(inferprobe_site_, __LINE__){"" literal}; \
  ::inferprobe::Scope INFERPROBE_JOIN(inferprobe_scope_,                                       \
                                      __LINE__)(INFERPROBE_JOIN(inferprobe_site_, __LINE__))

// Records a value under a string literal. Off, `value` is not evaluated.
#define INFERPROBE_COUNTER(literal, value)                                               \
  do {                                                                                   \
    if (::inferprobe::Recording()) [[unlikely]] {                                        \
      static constinit ::inferprobe::Site inferprobe_counter_site{"" literal};           \
      ::inferprobe::PublishCounter(inferprobe_counter_site, static_cast<double>(value)); \
    }                                                                                    \
  } while (false)
