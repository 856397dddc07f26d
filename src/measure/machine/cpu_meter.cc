#include "measure/machine/cpu_meter.h"

#include <fmt/format.h>

#include <ctime>

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

Metric<int64_t> Read(clockid_t clock) {
  timespec time = {};
  if (clock_gettime(clock, &time) != 0) {
    return Missing{Status::kUnsupported, "the system has no clock of CPU time"};
  }
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Metric<int64_t> Since(const Metric<int64_t>& begin_ns, clockid_t clock) {
  if (!begin_ns) return begin_ns;
  const Metric<int64_t> end_ns = Read(clock);
  return end_ns ? Metric<int64_t>(*end_ns - *begin_ns) : end_ns;
}

}  // namespace

void CpuMeter::BeginBlock() {
  in_runs_ns_ = 0;
  process_ns_ = Read(CLOCK_PROCESS_CPUTIME_ID);
  thread_ns_ = Read(CLOCK_THREAD_CPUTIME_ID);
}

void CpuMeter::BeforeRun(profile::RunMode /*mode*/) {
  const Metric<int64_t> now_ns = Read(CLOCK_THREAD_CPUTIME_ID);
  run_begin_ns_ = now_ns ? *now_ns : 0;
}

void CpuMeter::AfterRun(profile::RunMode /*mode*/) {
  const Metric<int64_t> now_ns = Read(CLOCK_THREAD_CPUTIME_ID);
  if (now_ns) in_runs_ns_ += *now_ns - run_begin_ns_;
}

void CpuMeter::EndBlock(profile::BlockReading* reading) const {
  reading->process_cpu_ns = Since(process_ns_, CLOCK_PROCESS_CPUTIME_ID);
  reading->outside_cpu_ns = Since(thread_ns_, CLOCK_THREAD_CPUTIME_ID);
  if (reading->outside_cpu_ns) reading->outside_cpu_ns = *reading->outside_cpu_ns - in_runs_ns_;
}

}  // namespace inferprobe::measure
