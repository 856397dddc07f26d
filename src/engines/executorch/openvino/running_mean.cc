#include "engines/executorch/openvino/running_mean.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace inferprobe::openvino {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// What the engine says is not checked by anybody: a product stays at the type's end.
int64_t Times(uint64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, std::max<int64_t>(b, 0), &product) ? kMost : product;
}

uint64_t NameHash(const ProfilingInfo& layer) {
  return base::HashText(layer.node_name != nullptr ? std::string_view(layer.node_name) : "");
}

}  // namespace

bool RunningMean::IsSameList(std::span<const ProfilingInfo> layers) const {
  return std::equal(
      layers.begin(), layers.end(), names_.begin(), names_.end(),
      [](const ProfilingInfo& layer, uint64_t name) { return NameHash(layer) == name; });
}

void RunningMean::StartWith(uint64_t calls, std::span<const ProfilingInfo> layers) {
  names_.resize(layers.size());
  std::transform(layers.begin(), layers.end(), names_.begin(), NameHash);
  totals_.resize(layers.size());
  std::transform(layers.begin(), layers.end(), totals_.begin(),
                 [&](const ProfilingInfo& layer) { return Times(calls, layer.real_time); });
  times_ns_.resize(layers.size());
  calls_ = calls;
}

std::span<const int64_t> RunningMean::Read(uint64_t calls, std::span<const ProfilingInfo> layers) {
  covered_ = 0;
  const bool first = calls_ == 0;
  if (first) {
    StartWith(0, layers);
  } else if (calls < calls_ || !IsSameList(layers)) {
    // How many of the calls the new list's means are over, nobody tells.
    ++restarts_;
    StartWith(calls, layers);
    return {};
  }
  if (calls == calls_) return {};
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t total = std::max(totals_[i], Times(calls, layers[i].real_time));
    times_ns_[i] = Times(kUnitNs, total - totals_[i]);
    totals_[i] = total;
  }
  covered_ = calls - calls_;
  calls_ = calls;
  return times_ns_;
}

int64_t RunningMean::ErrorNs(uint64_t calls, uint64_t covered) {
  // Rounding of the mean: below `calls`, either way. Each covered call's time was cut to whole
  // units, too.
  const uint64_t units = calls + std::max<uint64_t>(covered, 1) - 1;
  return units < calls ? kMost : Times(units, kUnitNs);
}

}  // namespace inferprobe::openvino
