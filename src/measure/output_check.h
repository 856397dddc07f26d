// What a program puts out, looked at once before it is measured: whether it is what a bundle or
// another process expects, whether it comes out again, and with profiling on too.
#pragma once

#include <vector>

#include "inferprobe/result.h"
#include "measure/engine.h"
#include "measure/perf.h"
#include "measure/regions_hook.h"
#include "profile/result.h"

namespace inferprobe::measure {

// Precondition: one run without profiling is done, with inputs set (of the first of `cases`, where
// there are some: a bundled program's). `regions`: looks at observed runs, as it will at those that
// are measured; or nullptr.
Result<profile::OutputCheck> CheckOutputs(Engine* engine, const PerfOptions& options,
                                          const std::vector<BundledCase>& cases,
                                          RegionsHook* regions);

}  // namespace inferprobe::measure
