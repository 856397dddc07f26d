#include "base/current_cpu.h"

#if defined(__linux__)
#include <sched.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#endif

namespace inferprobe::base {

int32_t CurrentCpu() {
#if defined(__linux__)
#if defined(RSEQ_SIG)  // glibc 2.35 and later: the kernel keeps the number in the thread's own
                       // memory
  if (__rseq_size != 0) {
    const auto* area = reinterpret_cast<const volatile struct rseq*>(
        static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset);
    const auto cpu = static_cast<int32_t>(area->cpu_id);
    return cpu < 0 ? -1 : cpu;  // below: this thread is not registered, for two reasons
  }
#endif
  return sched_getcpu();
#else
  return -1;
#endif
}

}  // namespace inferprobe::base
