#include "measure/regions_hook.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>

#include "measure/run_loop.h"

namespace inferprobe::measure {
namespace {

constexpr size_t kMostEvents = 16384;  // of a run
constexpr size_t kFewestEvents = 2048;
constexpr size_t kMemoryBytes = size_t{32} << 20;

// For every run anew, so a run's events must fit; on many CPUs, within the memory.
std::shared_ptr<ParallelRegionCollector> MakeCollector(RegionDetail detail, int64_t threads) {
  const size_t cpus = std::max<size_t>(1, std::thread::hardware_concurrency());
  const size_t participants = std::max(cpus, static_cast<size_t>(std::max<int64_t>(threads, 1)));
  const size_t bytes = sizeof(ParallelRegionEvent) + participants * sizeof(RegionParticipant);
  RegionCollectorOptions options;
  options.participants_per_event = participants;
  options.capacity = std::clamp(kMemoryBytes / bytes, kFewestEvents, kMostEvents);
  options.detail = detail;
  return std::make_shared<ParallelRegionCollector>(options);
}

}  // namespace

Result<RegionDetail> ParseRegionDetail(std::string_view text) {
  if (text == "wall") return RegionDetail::kWall;
  if (text == "busy") return RegionDetail::kBusy;
  if (text == "cpu") return RegionDetail::kCpuClock;
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("regions: there is no \"{}\"", text),
                   "give wall, busy or cpu");
}

uint32_t RingEventsForRegions(int64_t threads) {
  constexpr uint64_t kRegions = 4096;
  const auto participants = static_cast<uint64_t>(std::clamp<int64_t>(threads, 1, 16));
  return static_cast<uint32_t>(std::bit_ceil(kRegions * (5 + 2 * participants)));
}

RegionsHook::RegionsHook(RegionDetail detail, int64_t threads, record::ThreadRing* ring)
    : regions_(MakeCollector(detail, threads)), ring_(ring) {}

void RegionsHook::BeforeRun(profile::RunMode mode) {
  if (IsObserved(mode)) regions_.BeginRun();
}

void RegionsHook::AfterRun(profile::RunMode mode) {
  if (!IsObserved(mode)) return;
  regions_.EndRun();
  regions_.Publish(ring_);
  regions_.collector().Clear();
}

}  // namespace inferprobe::measure
