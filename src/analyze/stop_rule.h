// When enough runs are measured. Unless the length is fixed: at least 100 runs and 1 s, until the
// interval of p50 is within +-1 %, at most 10 s, which wins over the 100 but never under 3 runs.
//
//   StopDecider decider({});
//   while (decider.Decide(samples_ns, elapsed_ns) == StopReason::kContinue) { ... more runs ... }
//
// The rule that people break: the answer depends on the samples alone, so ask it between blocks of
// runs (every 50 ms or so), not during one. A call costs at most about a millisecond at any length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inferprobe::analyze {

struct StopRule {
  std::optional<uint64_t> iterations;  // fixes the length
  std::optional<double> duration_s;    // fixes the length; with both, what comes first
  uint64_t min_iterations = 100;
  int64_t min_ns = 1'000'000'000;
  int64_t max_ns = 10'000'000'000;
  uint64_t fewest = 3;
  double p50_half_width = 0.01;
};

enum class StopReason : uint8_t {
  kContinue,
  kIterations,  // the number asked for
  kDuration,    // the time asked for
  kPrecise,     // p50 is known well enough
  kTimeLimit,   // it is not, but 10 s are over
};
const char* StopReasonText(StopReason reason);

class StopDecider {
 public:
  explicit StopDecider(const StopRule& rule) : rule_(rule) {}
  // `samples_ns`: all runs so far; `elapsed_ns`: since the first of them began.
  StopReason Decide(std::span<const int64_t> samples_ns, int64_t elapsed_ns);

 private:
  [[nodiscard]] bool MedianIsPrecise(std::span<const int64_t> samples_ns);

  StopRule rule_;
  std::vector<int64_t> scratch_;
};

}  // namespace inferprobe::analyze
