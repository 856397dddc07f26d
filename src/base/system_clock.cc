#include "base/system_clock.h"

#include <ctime>

namespace inferprobe::base {
namespace {
int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

int64_t Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return Nanoseconds(time);
}
}  // namespace

int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
int64_t RealtimeNs() { return Read(CLOCK_REALTIME); }
int64_t BoottimeNs() { return Read(CLOCK_BOOTTIME); }

int64_t MonotonicResolutionNs() {
  timespec time{};
  clock_getres(CLOCK_MONOTONIC, &time);
  return Nanoseconds(time);
}

}  // namespace inferprobe::base
