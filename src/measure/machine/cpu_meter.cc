#include "measure/machine/cpu_meter.h"

#include <optional>

#include "base/system_clock.h"

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

using ReadClock = std::optional<uint64_t> (*)();

Metric<int64_t> Read(ReadClock clock) {
  if (const std::optional<uint64_t> ns = clock()) return static_cast<int64_t>(*ns);
  return Missing{Status::kUnsupported, "the system has no clock of CPU time"};
}

Metric<int64_t> Since(const Metric<int64_t>& begin_ns, ReadClock clock) {
  if (!begin_ns) return begin_ns;
  const Metric<int64_t> end_ns = Read(clock);
  return end_ns ? Metric<int64_t>(*end_ns - *begin_ns) : end_ns;
}

}  // namespace

void CpuMeter::BeginBlock() {
  in_runs_ns_ = 0;
  process_ns_ = Read(base::ProcessCpuNs);
  thread_ns_ = Read(base::ThreadCpuNs);
}

void CpuMeter::BeforeRun(profile::RunMode /*mode*/) {
  const Metric<int64_t> now_ns = Read(base::ThreadCpuNs);
  run_begin_ns_ = now_ns ? *now_ns : 0;
}

void CpuMeter::AfterRun(profile::RunMode /*mode*/) {
  const Metric<int64_t> now_ns = Read(base::ThreadCpuNs);
  if (now_ns) in_runs_ns_ += *now_ns - run_begin_ns_;
}

void CpuMeter::EndBlock(profile::BlockReading* reading) const {
  reading->process_cpu_ns = Since(process_ns_, base::ProcessCpuNs);
  reading->outside_cpu_ns = Since(thread_ns_, base::ThreadCpuNs);
  if (reading->outside_cpu_ns) reading->outside_cpu_ns = *reading->outside_cpu_ns - in_runs_ns_;
}

}  // namespace inferprobe::measure
