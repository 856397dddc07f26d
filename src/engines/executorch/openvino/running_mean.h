// Undoes OpenVINO's running mean: from what the engine tells after each call, how long each layer
// took in that call.
//
// The engine keeps, per node, T(n), the sum of whole-microsecond times of all n calls since the
// model was compiled, warm-up included, and tells mean(n) = floor(T(n) / n). So n * mean(n) is T(n)
// or up to n - 1 less. L(n) = max(L(n - 1), n * mean(n)) is the best lower bound that is known, and
// the value of call n is L(n) - L(n - 1). It is never negative, and the values of calls that follow
// each other add up to L of the last one: a sum over many calls is off by what one value may be.
//
// The rule that people break: one value alone may be off by ErrorNs(n), which grows with n. After
// 1,000 calls that is 1 ms. Say it beside the value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/executorch/openvino/openvino_api.h"

namespace inferprobe::openvino {

constexpr int64_t kUnitNs = 1000;  // of the engine's times

class RunningMean {
 public:
  // To be told after call number `calls`, counted from 1 since compilation, of all infer requests.
  // Returns the time of each layer in nanoseconds, valid until the next call of Read(), over all
  // calls since the reading before: covered(). Empty where nothing can be said: the list of layers
  // is not the one of before (restarts() counts it), or there was no call in between. Allocates
  // only for the first list and for a changed one.
  std::span<const int64_t> Read(uint64_t calls, std::span<const ProfilingInfo> layers);

  [[nodiscard]] uint64_t covered() const { return covered_; }
  [[nodiscard]] uint64_t restarts() const { return restarts_; }

  // A value is off by at most so much, either way: of call number `calls`, over `covered` calls.
  static int64_t ErrorNs(uint64_t calls, uint64_t covered = 1);

 private:
  [[nodiscard]] bool IsSameList(std::span<const ProfilingInfo> layers) const;
  void StartWith(uint64_t calls, std::span<const ProfilingInfo> layers);

  std::vector<uint64_t> names_;  // hash of each layer's name
  std::vector<int64_t> totals_;  // L of each layer, in the engine's unit
  std::vector<int64_t> times_ns_;
  uint64_t calls_ = 0;
  uint64_t covered_ = 0;
  uint64_t restarts_ = 0;
};

}  // namespace inferprobe::openvino
