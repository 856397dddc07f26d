// A wheel's thread pool hands data from thread to thread by means that ThreadSanitizer does not
// see. Here it is told: what was written before Release(p) is there after Acquire(p). Nothing in
// other builds.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define INFERPROBE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INFERPROBE_TSAN 1
#endif
#endif
#if defined(INFERPROBE_TSAN)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace inferprobe::executorch_engine {

inline void Acquire([[maybe_unused]] const void* data) {
#if defined(INFERPROBE_TSAN)
  __tsan_acquire(const_cast<void*>(data));
#endif
}
inline void Release([[maybe_unused]] const void* data) {
#if defined(INFERPROBE_TSAN)
  __tsan_release(const_cast<void*>(data));
#endif
}

}  // namespace inferprobe::executorch_engine
