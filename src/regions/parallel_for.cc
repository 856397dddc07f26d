#include "inferprobe/parallel_for.h"

#include <algorithm>

#include "regions/frame.h"

namespace inferprobe::internal {

void RunRegion(const ExecutorView& view, int64_t total, int64_t grain, RangeBody body,
               const char* label, size_t label_length, std::source_location location) {
  CpuExecutor& executor = view.executor();
  const int limit = view.limit();
  const int threads = executor.threads();
  regions::Frame frame;
  regions::BeginRegion(&frame, view.regions(),
                       {.label = {label, label_length},
                        .location = location,
                        .iterations = std::max<int64_t>(total, 0),
                        .grain = std::max<int64_t>(grain, 1),
                        .requested = limit > 0 ? std::min(limit, threads) : threads,
                        .executor_id = executor.id()});
  try {
    executor.RunRange(total, grain, body, limit, &frame);
  } catch (...) {
    frame.failed = true;
    regions::EndRegion(&frame);
    throw;
  }
  regions::EndRegion(&frame);
}

}  // namespace inferprobe::internal
