#include "record/calibrate.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/system_clock.h"
#include "inferprobe/ring.h"

namespace inferprobe::record {
namespace {

constexpr int kBatches = 15;
constexpr int kPerBatch = 1000;
constexpr uint64_t kCells = 1024;

template <typename Once>
double MedianNs(const Once& once) {
  const ClockCalibration& clock = Clock();
  std::array<double, kBatches> batches{};
  for (double& batch : batches) {
    const uint64_t start = NowTicks();
    for (int i = 0; i < kPerBatch; ++i) once();
    batch = static_cast<double>(NowTicks() - start) * clock.ns_per_tick / kPerBatch;
  }
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

double TickNs() {
  if (Clock().tsc) return Clock().ns_per_tick;
  // A clock that stands still between readings is coarser than they are; else believe the system.
  bool stood_still = false;
  int64_t smallest = INT64_MAX;
  int64_t last = base::MonotonicNs();
  for (int i = 0; i < kPerBatch; ++i) {
    const int64_t now = base::MonotonicNs();
    stood_still |= now == last;
    if (now != last) smallest = std::min(smallest, now - last);
    last = now;
  }
  const int64_t said = std::max<int64_t>(base::MonotonicResolutionNs(), 1);
  return static_cast<double>(stood_still && smallest != INT64_MAX ? std::max(said, smallest)
                                                                  : said);
}

}  // namespace

ProbeCosts MeasureProbeCosts() {
  ProbeCosts costs;
  costs.tick_ns = TickNs();
  uint64_t sum = 0;
  costs.clock_read_ns = MedianNs([&] { sum += NowTicks(); });
  const volatile uint64_t keep = sum;  // or the readings could go
  static_cast<void>(keep);

  const auto cells = std::make_unique<Cell[]>(kCells);
  std::atomic<uint64_t> head{0};
  internal::ThreadRing ring;
  ring.cells = cells.get();
  ring.mask = kCells - 1;
  ring.limit = UINT64_MAX;
  ring.shared_head = &head;
  costs.event_ns = MedianNs([&] {
    const internal::OpenedSlice slice = internal::OpenSlice(&ring);
    const uint64_t start = NowTicks();
    const uint64_t end = NowTicks();
    internal::CloseSlice(&ring, slice);
    internal::Publish(&ring, {start, end, 1, slice.id, slice.parent, kScopeInfo});
  });
  return costs;
}

const ProbeCosts& CalibratedCosts() {
  static const ProbeCosts costs = MeasureProbeCosts();
  return costs;
}

}  // namespace inferprobe::record
