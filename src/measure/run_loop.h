// The loops that a worker measures in. Between runs it looks after the rings, the ledger and the
// stop rule; during a run it does nothing.
//
// The rule that people break: whatever is not a run happens between runs, and long things (a drain,
// a block's ledger) are slices of their own in the trace.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "inferprobe/result.h"
#include "measure/engine.h"
#include "measure/run_hook.h"
#include "profile/model.h"
#include "record/ring_writer.h"

namespace inferprobe::measure {

// Whether a run of this mode records its inside.
bool IsObserved(profile::RunMode mode);

class RunLoop {
 public:
  struct Callbacks {
    std::function<Result<void>()> drain;                // hand the rings over, and wait
    std::function<void()> block_begin;                  // a block of runs starts ...
    std::function<Result<void>()> block_end;            // ... and ends: read the ledger
    std::function<profile::RunDisturbance()> run_cost;  // of the last run
  };

  // `ring` is the calling thread's; its capacity in cells.
  RunLoop(Engine* engine, internal::ThreadRing* ring, std::vector<RunHook*> hooks,
          Callbacks callbacks);

  // One run; its time in ns. Publishes the run and what disturbed it. `group`: its triple.
  Result<int64_t> Run(profile::RunMode mode, uint32_t group = 0);

  // A loop ends at exactly `runs`, or after `ns` (never before `at_least` runs), or when the stop
  // rule says so, which is asked after each block of about 50 ms.
  struct Limits {
    uint64_t runs = UINT64_MAX;
    int64_t ns = INT64_MAX;
    uint64_t at_least = 1;
  };
  using Stop = std::function<bool(const std::vector<int64_t>& samples_ns, int64_t elapsed_ns)>;
  Result<std::vector<int64_t>> Runs(profile::RunMode mode, const Limits& limits, const Stop& stop);

  // Triples of off, off again and on, each in random order. Returns their number. Short runs have
  // an unmeasured one before them: two instances of a program have weights of their own, and a run
  // that follows one of the other instance would find its caches cold.
  Result<uint64_t> Triples(uint64_t seed, const Limits& limits);

  // Time that the last loop spent in its blocks.
  [[nodiscard]] int64_t elapsed_ns() const { return elapsed_ns_; }

  // Hands the rings over now.
  Result<void> Drain();

 private:
  // Blocks of `step` until `limits`, or until `stop` (may be empty) says so.
  Result<uint64_t> Blocks(const Limits& limits, const std::function<Result<void>()>& step,
                          const std::function<bool()>& stop);
  [[nodiscard]] bool RingIsFilling() const;

  Engine* engine_;
  internal::ThreadRing* ring_;
  std::vector<RunHook*> hooks_;
  Callbacks callbacks_;
  uint32_t run_name_;
  uint32_t drain_name_;
  uint64_t cells_per_run_ = 16;  // the most that one run published
  int64_t last_drain_ns_ = 0;
  int64_t elapsed_ns_ = 0;
};

}  // namespace inferprobe::measure
