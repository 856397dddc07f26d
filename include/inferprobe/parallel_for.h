// ParallelFor: a parallel loop that can be seen.
//
//   inferprobe::CpuExecutor executor(4);
//   inferprobe::ParallelFor(executor, rows, 16, [&](int64_t begin, int64_t end) {
//     for (int64_t row = begin; row < end; ++row) Normalize(row);
//   }, "normalize");                                       // the label may be left out
//
//   // Seen: with a collector beside the executor (inferprobe/region.h).
//   inferprobe::ParallelFor(inferprobe::ExecutorView(executor, &regions), ...);
//
// Without a collector it is executor.Run() behind a load, a test and a jump.
//
// The rule that people break: the label is kept, not copied. It must be a literal, or outlive the
// collector's reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "inferprobe/api.h"
#include "inferprobe/executor.h"

namespace inferprobe {

namespace internal {
// The label in two parts: as one object it is put together before the check is made.
INFERPROBE_API void RunRegion(const ExecutorView& view, int64_t total, int64_t grain,
                              RangeBody body, const char* label, size_t label_length,
                              std::source_location location);
}  // namespace internal

template <typename F>
void ParallelFor(const ExecutorView& view, int64_t total, int64_t grain, F&& fn,
                 std::string_view label = {},
                 std::source_location location = std::source_location::current()) {
  if (view.regions() == nullptr) [[likely]] {
    view.executor().Run(total, grain, fn, view.limit());
    return;
  }
  internal::RunRegion(view, total, grain, fn, label.data(), label.size(), location);
}

}  // namespace inferprobe
