#include "record/calibrate.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "base/system_clock.h"
#include "inferprobe/ring.h"

namespace inferprobe::record {
namespace {

constexpr int kBatches = 15;
constexpr int kPerBatch = 1000;
constexpr uint64_t kCells = 1024;
constexpr int kStepReadings = 200;  // in a batch

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

// One batch's step. The readings lie further apart than a step of 10 ns, at distances that vary: an
// AMD CPU answers the second reading within one step with one more than the first, so that no two
// are equal, and such a difference is no step.
uint64_t SeenStepTicks() {
  std::array<int64_t, kStepReadings> deltas{};
  volatile int waited = 0;
  uint64_t last = NowTicks();
  for (int i = 0; i < kStepReadings; ++i) {
    for (int k = 0; k < 60 + i % 16; ++k) waited = waited + 1;
    const uint64_t now = NowTicks();
    deltas[i] = static_cast<int64_t>(now - last);
    last = now;
  }
  return StepTicks(deltas);
}

// As it is seen: what a clock is counted in need not be what it advances by.
double TickNs() {
  // The median: a move to another CPU breaks a batch, and chance may make one coarse.
  std::array<uint64_t, kBatches> steps{};
  for (uint64_t& step : steps) step = SeenStepTicks();
  std::nth_element(steps.begin(), steps.begin() + kBatches / 2, steps.end());
  const double seen = static_cast<double>(steps[kBatches / 2]) * Clock().ns_per_tick;
  // A clock of milliseconds may stand still all the while, but the system tells of it.
  return Clock().tsc ? seen : std::max(seen, static_cast<double>(base::MonotonicResolutionNs()));
}

}  // namespace

uint64_t StepTicks(std::span<const int64_t> deltas) {
  int64_t step = 0;
  for (const int64_t delta : deltas) step = std::gcd(step, delta);
  return std::max<uint64_t>(static_cast<uint64_t>(step), 1);
}

ProbeCosts MeasureProbeCosts() {
  Clock();  // first: it decides what a tick is
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
