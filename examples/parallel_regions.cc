// What parallel loops did, and how to read a figure that is missing: first a loop of one's own,
// then, with a model, the loops of whatever runs it.
//
//   parallel_regions [samples/vision_xnnpack.pte]
#include <inferprobe/parallel_for.h>
#include <inferprobe/region.h>
#include <inferprobe/session.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using inferprobe::ParallelRegionEvent;
using inferprobe::ParallelRegionReport;
using inferprobe::Status;

// A figure that is missing is not zero: its status says why there is none.
std::string Text(bool valid, Status status, double value, const char* unit) {
  if (!valid) return std::string("n/a (") + inferprobe::StatusText(status) + ")";
  char text[64];
  std::snprintf(text, sizeof text, "%.3f%s", value, unit);
  return text;
}

void Print(const ParallelRegionReport& report) {
  for (const ParallelRegionEvent& region : report.events) {
    const auto idle = region.idle_core_ns();
    std::printf("  %-10.*s %6lld iterations  threads: %d asked for, %d admitted, %d seen\n",
                static_cast<int>(region.label.size()), region.label.data(),
                static_cast<long long>(region.total_iterations), region.requested_threads,
                region.admitted_threads, region.observed_threads);
    std::printf(
        "             idle, at most: %s;  process CPU: %s;  LLC misses: %s\n",
        Text(idle.has_value(), region.participants_status,
             static_cast<double>(idle.value_or(0)) / 1e6, " core-ms")
            .c_str(),
        Text(region.process_cpu_status == Status::kValid, region.process_cpu_status,
             static_cast<double>(region.process_cpu_time_ns) / 1e6, " ms")
            .c_str(),
        Text(region.counters.llc_misses.status == Status::kValid, region.counters.llc_misses.status,
             static_cast<double>(region.counters.llc_misses.value), "")
            .c_str());
  }
  std::printf("  %llu more found no place\n", static_cast<unsigned long long>(report.dropped));
}

void OfOnesOwn() {
  inferprobe::CpuExecutor executor(2);
  std::vector<float> rows(1 << 16);
  const auto normalize = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) rows[static_cast<size_t>(i)] *= 0.5F;
  };
  const auto size = static_cast<int64_t>(rows.size());
  inferprobe::ParallelFor(executor, size, 4096, normalize);  // off: nothing is looked at

  inferprobe::RegionCollectorOptions options;
  options.capacity = 3;  // what does not fit is counted
  inferprobe::ParallelRegionCollector regions(options);
  const inferprobe::ExecutorView seen(executor, &regions);
  inferprobe::ParallelFor(seen, size, 4096, normalize, "normalize");
  inferprobe::ParallelFor(seen, size, size, normalize, "one chunk");  // a thread has nothing to do
  inferprobe::ParallelFor(seen, 0, 1, normalize, "empty");            // that is a zero
  inferprobe::ParallelFor(seen, size, 4096, normalize, "too many");
  std::printf("loops of one's own\n");
  Print(regions.Report());
}

int OfAModel(const char* path) {
  auto regions = std::make_shared<inferprobe::ParallelRegionCollector>(
      inferprobe::RegionCollectorOptions{.capacity = 4096});
  inferprobe::RuntimeSessionOptions options;
  options.regions = regions;  // off without it
  auto session = inferprobe::RuntimeSession::Load(path, options);
  if (!session) {
    std::fprintf(stderr, "%s\n%s\n", session.error().message.c_str(), session.error().hint.c_str());
    return 1;
  }
  if (auto run = session->Run(); !run) {
    std::fprintf(stderr, "%s\n", run.error().message.c_str());
    return 1;
  }
  const ParallelRegionReport report = regions->Report();
  std::printf("%zu loops in a run of the model\n", report.events.size());
  Print(report);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: parallel_regions [MODEL]\n");
    return 2;
  }
  OfOnesOwn();
  return argc == 2 ? OfAModel(argv[1]) : 0;
}
