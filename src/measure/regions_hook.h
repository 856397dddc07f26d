// The parallel regions of a worker's observed runs. The others are left alone: in latency and in a
// pair's other half no region is looked at.
#pragma once

#include <string_view>

#include "inferprobe/region.h"
#include "inferprobe/result.h"
#include "measure/run_hook.h"
#include "measure/session_regions.h"

namespace inferprobe::measure {

// "wall", "busy" or "cpu"; an error names them.
Result<RegionDetail> ParseRegionDetail(std::string_view text);

// Cells for a ring that holds several runs with many regions of so many threads.
uint32_t RingEventsForRegions(int64_t threads);

class RegionsHook final : public RunHook {
 public:
  // `threads`: of the engine's pool, which may have more than the machine has CPUs. `ring`: the
  // calling thread's, on which the runs are.
  RegionsHook(RegionDetail detail, int64_t threads, record::ThreadRing* ring);

  void BeforeRun(profile::RunMode mode) override;
  void AfterRun(profile::RunMode mode) override;

 private:
  SessionRegions regions_;
  record::ThreadRing* ring_;
};

}  // namespace inferprobe::measure
