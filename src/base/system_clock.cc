#include "base/system_clock.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <ctime>
#endif

namespace inferprobe::base {
#if defined(_WIN32)
namespace {
constexpr int64_t kSecondNs = 1'000'000'000;

int64_t Frequency() {
  static const int64_t frequency = [] {
    LARGE_INTEGER value;
    QueryPerformanceFrequency(&value);
    return static_cast<int64_t>(value.QuadPart);
  }();
  return frequency;
}

uint64_t Intervals(const FILETIME& time) {  // of 100 ns
  return (uint64_t{time.dwHighDateTime} << 32) | time.dwLowDateTime;
}

}  // namespace

int64_t MonotonicNs() {
  LARGE_INTEGER value;
  QueryPerformanceCounter(&value);
  // In two parts: the whole times a billion would not fit after fifteen minutes at 10 MHz.
  const int64_t frequency = Frequency();
  const auto ticks = static_cast<int64_t>(value.QuadPart);
  return ticks / frequency * kSecondNs + ticks % frequency * kSecondNs / frequency;
}

int64_t RealtimeNs() {
  constexpr uint64_t kFrom1601To1970 = 116'444'736'000'000'000;
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return static_cast<int64_t>((Intervals(now) - kFrom1601To1970) * 100);
}

// QueryPerformanceCounter counts suspended time too.
int64_t BoottimeNs() { return MonotonicNs(); }
int64_t MonotonicResolutionNs() { return kSecondNs / Frequency(); }

// GetProcessTimes counts in steps of 15.6 ms: what is shorter would be a false zero.
std::optional<uint64_t> ProcessCpuNs() { return std::nullopt; }
std::optional<uint64_t> ThreadCpuNs() { return std::nullopt; }

#else
namespace {
int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

int64_t Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return Nanoseconds(time);
}

std::optional<uint64_t> CpuNs(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<uint64_t>(Nanoseconds(time));
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

std::optional<uint64_t> ProcessCpuNs() { return CpuNs(CLOCK_PROCESS_CPUTIME_ID); }
std::optional<uint64_t> ThreadCpuNs() { return CpuNs(CLOCK_THREAD_CPUTIME_ID); }
#endif

}  // namespace inferprobe::base
