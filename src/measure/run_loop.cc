#include "measure/run_loop.h"

#include <algorithm>
#include <array>

#include "inferprobe/clock.h"
#include "measure/random_order.h"

namespace inferprobe::measure {
namespace {

using profile::RunMode;

constexpr int64_t kBlockNs = 50'000'000;
constexpr int64_t kDrainEveryNs = 500'000'000;
constexpr int64_t kSettleBelowNs = 20'000'000;  // longer runs fill their caches themselves

int64_t NowNs() { return Clock().ToNs(NowTicks()); }

}  // namespace

bool IsObserved(RunMode mode) {
  return mode == RunMode::kPairOn || mode == RunMode::kWarmupOn || mode == RunMode::kSettleOn;
}

RunLoop::RunLoop(Engine* engine, internal::ThreadRing* ring, std::vector<RunHook*> hooks,
                 Callbacks callbacks)
    : engine_(engine),
      ring_(ring),
      hooks_(std::move(hooks)),
      callbacks_(std::move(callbacks)),
      run_name_(record::InternName("run")),
      drain_name_(record::InternName("inferprobe.drain")),
      last_drain_ns_(NowNs()) {}

Result<int64_t> RunLoop::Run(RunMode mode, uint32_t group) {
  const bool observed = IsObserved(mode);
  const uint64_t cells_before = ring_->head;
  const uint64_t lost_before = ring_->lost->load(std::memory_order_relaxed);
  if (observed) INFERPROBE_RETURN_IF_ERROR(engine_->BeforeObservedRun());
  for (RunHook* hook : hooks_) hook->BeforeRun(mode);

  const record::OpenedSlice slice = record::OpenSlice(ring_);
  const uint64_t start = NowTicks();
  auto ran = engine_->Run(observed);
  const uint64_t end = NowTicks();
  record::CloseSlice(ring_, slice);

  for (RunHook* hook : hooks_) hook->AfterRun(mode);
  Result<void> after;
  if (observed) after = engine_->AfterObservedRun();
  if (!ran) return tl::unexpected(std::move(ran).error());
  if (!after) return tl::unexpected(std::move(after).error());

  const profile::RunDisturbance cost = callbacks_.run_cost();
  const bool incomplete = ring_->lost->load(std::memory_order_relaxed) != lost_before;
  const std::array<record::Cell, 2> cells = {
      record::Cell{
          start, end, run_name_, slice.id, slice.parent,
          record::PackInfo(record::CellType::kRun, static_cast<uint32_t>(mode) | group << 4)},
      record::Cell{static_cast<uint64_t>(cost.run_queue_delay_ns),
                   uint64_t{cost.involuntary_switches} << 32 | cost.voluntary_switches, 0,
                   cost.minor_faults, cost.major_faults,
                   record::PackInfo(record::CellType::kRunFacts, incomplete ? 1 : 0)}};
  // A run that filled the ring must not be lost with its inside.
  if (incomplete) INFERPROBE_RETURN_IF_ERROR(callbacks_.drain());
  record::PublishGroup(ring_, cells);
  cells_per_run_ = std::max(cells_per_run_, ring_->head - cells_before);
  return Clock().ToNs(end) - Clock().ToNs(start);
}

bool RunLoop::RingIsFilling() const {
  const uint64_t capacity = ring_->mask + 1;
  const uint64_t used = ring_->head - ring_->shared_tail->load(std::memory_order_relaxed);
  // Room for two observed runs, and the short ones of a triple.
  return capacity - used < std::max(3 * cells_per_run_, capacity / 4);
}

Result<void> RunLoop::Drain() {
  const record::OpenedSlice slice = record::OpenSlice(ring_);
  const uint64_t start = NowTicks();
  INFERPROBE_RETURN_IF_ERROR(callbacks_.drain());
  const uint64_t end = NowTicks();
  record::CloseSlice(ring_, slice);
  record::Publish(ring_, record::Cell{start, end, drain_name_, slice.id, slice.parent,
                                      record::PackInfo(record::CellType::kScope, 0)});
  last_drain_ns_ = NowNs();
  return {};
}

Result<uint64_t> RunLoop::Blocks(const Limits& limits, const std::function<Result<void>()>& step,
                                 const std::function<bool()>& stop) {
  uint64_t steps = 0;
  elapsed_ns_ = 0;  // of the blocks; what lies between them does not count
  const auto over = [&](int64_t elapsed) {
    return steps >= limits.runs || (elapsed >= limits.ns && steps >= limits.at_least);
  };
  while (!over(elapsed_ns_) && !(stop && stop())) {
    callbacks_.block_begin();
    const int64_t begin = NowNs();
    int64_t in_block = 0;
    do {
      INFERPROBE_RETURN_IF_ERROR(step());
      ++steps;
      in_block = NowNs() - begin;
    } while (in_block < kBlockNs && !RingIsFilling() && !over(elapsed_ns_ + in_block));
    elapsed_ns_ += in_block;
    INFERPROBE_RETURN_IF_ERROR(callbacks_.block_end());
    if (RingIsFilling() || NowNs() - last_drain_ns_ > kDrainEveryNs) {
      INFERPROBE_RETURN_IF_ERROR(Drain());
    }
  }
  return steps;
}

Result<std::vector<int64_t>> RunLoop::Runs(RunMode mode, const Limits& limits, const Stop& stop) {
  std::vector<int64_t> samples;
  samples.reserve(size_t{1} << 16);
  const auto step = [&]() -> Result<void> {
    auto ran = Run(mode);
    if (!ran) return tl::unexpected(std::move(ran).error());
    samples.push_back(*ran);
    return {};
  };
  const auto asked = [&] { return stop && stop(samples, elapsed_ns_); };
  if (auto steps = Blocks(limits, step, asked); !steps) return tl::unexpected(steps.error());
  return samples;
}

Result<uint64_t> RunLoop::Triples(uint64_t seed, const Limits& limits) {
  SplitMix64 random(seed);
  uint32_t group = 0;
  int64_t last_ns = 0;
  const auto step = [&]() -> Result<void> {
    ++group;
    std::array<RunMode, 3> order = {RunMode::kPairOff, RunMode::kPairNull, RunMode::kPairOn};
    std::swap(order[2], order[random.Below(3)]);
    std::swap(order[1], order[random.Below(2)]);
    for (const RunMode mode : order) {
      if (last_ns < kSettleBelowNs) {
        const RunMode settle = IsObserved(mode) ? RunMode::kSettleOn : RunMode::kSettle;
        if (auto ran = Run(settle); !ran) return tl::unexpected(std::move(ran).error());
      }
      auto ran = Run(mode, group);
      if (!ran) return tl::unexpected(std::move(ran).error());
      last_ns = *ran;
    }
    return {};
  };
  return Blocks(limits, step, {});
}

}  // namespace inferprobe::measure
