#include "base/perf_event_probe.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace inferprobe::base {

PerfEventProbe ProbePerfEvents() {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;  // without it paranoid 2 refuses before anything else is looked at
  attributes.exclude_hv = 1;
  const auto fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd >= 0) {
    close(fd);
    return {};
  }
  PerfEventProbe probe;
  probe.error = errno;
  if (probe.error == ENOENT || probe.error == EOPNOTSUPP || probe.error == ENODEV) {
    probe.text = fmt::format(
        "no hardware counters on this machine ({}); virtual machines often "
        "hide them: run on the host or ask for a PMU",
        SystemErrorText(probe.error));
  } else if (probe.error == EACCES || probe.error == EPERM) {
    probe.text =
        "refused; see /proc/sys/kernel/perf_event_paranoid. As root: sysctl "
        "kernel.perf_event_paranoid=2, or give the program CAP_PERFMON; containers may also block "
        "the system call";
  } else {
    probe.text = fmt::format("perf_event_open: {}", SystemErrorText(probe.error));
  }
  return probe;
}

}  // namespace inferprobe::base
