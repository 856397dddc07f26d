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

  // One run; its time in ns. Publishes the run and what disturbed it.
  Result<int64_t> Run(profile::RunMode mode);

  // Runs in blocks of about 50 ms until `stop(samples, elapsed_ns)` says so.
  using Stop = std::function<bool(const std::vector<int64_t>& samples_ns, int64_t elapsed_ns)>;
  Result<std::vector<int64_t>> Until(profile::RunMode mode, const Stop& stop);

  // Triples of off, off again and on, each in random order, until `stop(triples, elapsed_ns)`.
  using StopTriples = std::function<bool(uint64_t triples, int64_t elapsed_ns)>;
  Result<uint64_t> Triples(uint64_t seed, const StopTriples& stop);

  // Hands the rings over now.
  Result<void> Drain();

 private:
  Result<void> AfterBlock();
  [[nodiscard]] bool RingIsFilling() const;

  Engine* engine_;
  internal::ThreadRing* ring_;
  std::vector<RunHook*> hooks_;
  Callbacks callbacks_;
  uint32_t run_name_;
  uint32_t drain_name_;
  uint64_t cells_per_run_ = 16;  // the most that one run published
  int64_t last_drain_ns_ = 0;
};

}  // namespace inferprobe::measure
