#include <inferprobe/parallel_for.h>
#include <inferprobe/region.h>

#include <cstdio>

int main() {
  inferprobe::CpuExecutor executor(2);
  inferprobe::ParallelRegionCollector regions;
  inferprobe::ParallelFor(
      inferprobe::ExecutorView(executor, &regions), 10, 1, [](int64_t, int64_t) {}, "normalize");
  const inferprobe::ParallelRegionReport report = regions.Report();
  if (report.events.size() != 1) return 1;
  const inferprobe::ParallelRegionEvent& event = report.events[0];
  std::printf("%.*s: %d iterations, CPU time %s\n", static_cast<int>(event.label.size()),
              event.label.data(), static_cast<int>(event.total_iterations),
              inferprobe::StatusText(event.process_cpu_status));
  return 0;
}
