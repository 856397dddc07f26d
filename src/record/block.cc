#include "record/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string>

#include "base/files.h"
#include "base/thread_identity.h"
#include "record/calibrate.h"
#include "record/shared_block.h"

namespace inferprobe::record {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

template <size_t N>
void CopyText(char (&to)[N], const std::string& from) {
  const size_t bytes = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = '\0';
}

}  // namespace

Result<BlockPlan> PlanBlock(const RecorderOptions& options) {
  BlockPlan plan;
  plan.ring_count = options.max_threads;
  plan.ring_capacity = std::bit_ceil(std::max<uint64_t>(options.events_per_thread, 2));
  plan.names_offset = sizeof(Header) + plan.ring_count * sizeof(RingHeader);
  plan.names_bytes = options.name_bytes;
  plan.cells_offset = (plan.names_offset + plan.names_bytes + kPage - 1) / kPage * kPage;
  const uint64_t ring_bytes = plan.ring_capacity * sizeof(Cell);
  if (plan.ring_count == 0 || plan.ring_count > kMaxRings ||
      plan.ring_count > kMaxBytes / ring_bytes) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "recorder: " + std::to_string(options.max_threads) + " threads of " +
                         std::to_string(options.events_per_thread) + " events",
                     "1 to " + std::to_string(kMaxRings) + " threads, at most 1 TiB in all");
  }
  plan.total_bytes = plan.cells_offset + plan.ring_count * ring_bytes;
  const bool is_private = options.shared_fd < 0 && options.file.empty();
  plan.present_bytes = is_private && options.present_bytes_per_thread != 0
                           ? std::min<uint64_t>(options.present_bytes_per_thread, ring_bytes)
                           : ring_bytes;
  return plan;
}

Result<size_t> BlockBytes(const RecorderOptions& options) {
  Result<BlockPlan> plan = PlanBlock(options);
  if (!plan) return tl::unexpected(plan.error());
  return plan->total_bytes;
}

Result<std::shared_ptr<Block>> Block::Create(const RecorderOptions& options) {
  Result<BlockPlan> plan = PlanBlock(options);
  if (!plan) return tl::unexpected(plan.error());
  const size_t bytes = plan->total_bytes;
  Result<base::MemoryBlock> memory =
      options.shared_fd >= 0 ? base::MemoryBlock::Shared(options.shared_fd, bytes)
      : options.file.empty() ? base::MemoryBlock::Private(bytes)
                             : base::MemoryBlock::CreateFile(options.file, bytes);
  if (!memory) return tl::unexpected(memory.error());
  if (!memory->Reserve(0, plan->cells_offset)) {
    return MakeError(ErrorCode::kIo, "recorder: the system has no " +
                                         std::to_string(plan->cells_offset) + " bytes left");
  }
  if (plan->present_bytes < plan->ring_capacity * sizeof(Cell)) {
    base::PreferSmallPages(memory->data() + plan->cells_offset, bytes - plan->cells_offset);
  }
  auto block = std::make_shared<Block>();
  block->memory_ = *std::move(memory);
  block->plan_ = *plan;

  auto* header = new (block->memory_.data()) Header;
  for (uint32_t i = 0; i < plan->ring_count; ++i) new (block->ring(i)) RingHeader;
  header->ring_count = plan->ring_count;
  header->ring_capacity = plan->ring_capacity;
  header->names_offset = plan->names_offset;
  header->names_bytes = plan->names_bytes;
  header->cells_offset = plan->cells_offset;
  header->total_bytes = bytes;
  header->pid = base::ProcessId();
  const ClockCalibration& clock = Clock();
  header->anchor_ticks = clock.anchor_ticks;
  header->anchor_ns = clock.anchor_ns;
  header->ns_per_tick = clock.ns_per_tick;
  header->realtime_minus_monotonic_ns = clock.realtime_minus_monotonic_ns;
  header->boottime_minus_monotonic_ns = clock.boottime_minus_monotonic_ns;
  const ProbeCosts& costs = CalibratedCosts();
  header->tick_ns = costs.tick_ns;
  header->clock_read_ns = costs.clock_read_ns;
  header->event_ns = costs.event_ns;
  header->tsc = clock.tsc ? 1 : 0;
  CopyText(header->run_id, options.run_id.empty() ? base::RandomHex128() : options.run_id);
  CopyText(header->process_name,
           options.process_name.empty() ? base::ProgramName() : options.process_name);
  return block;
}

}  // namespace inferprobe::record
