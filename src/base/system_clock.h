// The system's clocks, in nanoseconds.
//
// The rule that people break: a CPU clock costs a system call, and the process's lags by up to a
// scheduler tick for what other threads do right now.
#pragma once

#include <cstdint>
#include <optional>

namespace inferprobe::base {

int64_t MonotonicNs();
int64_t RealtimeNs();
int64_t BoottimeNs();  // counts suspended time too
int64_t MonotonicResolutionNs();

// CPU time of all threads of the process, and of the calling one. nullopt: there is no such clock.
std::optional<uint64_t> ProcessCpuNs();
std::optional<uint64_t> ThreadCpuNs();

}  // namespace inferprobe::base
