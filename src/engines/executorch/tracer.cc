#include "engines/executorch/tracer.h"

#include <executorch/runtime/platform/platform.h>

#include <limits>
#include <utility>

#include "profile/loss.h"
#include "record/extended_cells.h"
#include "regions/current_work.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
using record::CellType;

// The entry of an event that is not recorded, and says nothing of an instruction.
constexpr int64_t kIgnored = -1;
// One that is not recorded, inside an instruction: these and less, by the instruction that the
// thread was in before (-1: none).
constexpr int64_t kFirstUnrecorded = -2;

int64_t UnrecordedInside(int32_t outer_instruction) {
  return kFirstUnrecorded - (int64_t{outer_instruction} + 1);
}
int32_t OuterInstruction(int64_t unrecorded) {
  return static_cast<int32_t>(kFirstUnrecorded - unrecorded - 1);
}

// A debug handle is the index of the instruction, and 0 is also what an unset one reads as: only
// the chain tells.
uint32_t InstructionOf(et::ChainID chain, et::DebugHandle handle) {
  if (chain == et::kUnsetChainId || handle >= record::kNoInstruction) return record::kNoInstruction;
  return handle;
}

void PublishLoss(record::ThreadRing* ring, profile::Loss loss, uint64_t count) {
  if (count == 0) return;
  record::Publish(
      ring, {count, 0, 0, 0, 0, record::PackInfo(CellType::kLoss, static_cast<uint32_t>(loss))});
}

}  // namespace

EngineClock EngineClock::Measure() {
  EngineClock clock;
  const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
  if (ratio.numerator != 0 && ratio.denominator != 0) {
    clock.numerator = ratio.numerator;
    clock.denominator = ratio.denominator;
  }
  // Of several readings, the one that was disturbed least.
  uint64_t best_gap = std::numeric_limits<uint64_t>::max();
  int64_t offset = 0;
  for (int i = 0; i < 64; ++i) {
    const uint64_t before = inferprobe::internal::SystemClockNs();
    const uint64_t ticks = et::pal_current_ticks();
    const uint64_t after = inferprobe::internal::SystemClockNs();
    if (after - before >= best_gap) continue;
    best_gap = after - before;
    offset = static_cast<int64_t>(before + best_gap / 2 - clock.ToMonotonicNs(ticks));
  }
  clock.offset_ns = offset;
  return clock;
}

void RingTracer::BeginRun(record::ThreadRing* ring) {
  ring_ = ring;
  depth_ = 0;
  loading_ = false;
  outer_instruction_ = regions::t_work.instruction;
}

void RingTracer::BeginLoad(record::ThreadRing* ring) {
  BeginRun(ring);
  loading_ = true;
}

void RingTracer::EndRun() {
  regions::t_work.instruction = outer_instruction_;  // also where an error left events open
  if (ring_ == nullptr) return;
  while (depth_ > 0) DropTop();
  PublishLoss(ring_, profile::Loss::kUnbalancedEnd, std::exchange(unbalanced_, 0));
  PublishLoss(ring_, profile::Loss::kMetadataCut, std::exchange(metadata_cut_, 0));
  PublishLoss(ring_, profile::Loss::kForeignThread, foreign_.exchange(0));
  ring_ = nullptr;
}

inline bool RingTracer::Records() {
  if (ring_ == nullptr) return false;
  if (inferprobe::internal::t_ring != ring_) [[unlikely]] {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

// A block is a run: what is open from before it will not be ended.
void RingTracer::create_event_block(const char* /*name*/) {
  if (!Records()) return;
  while (depth_ > 0) DropTop();
}

RingTracer::Entry RingTracer::start_profiling(const char* name, ChainId chain_id,
                                              DebugHandle debug_handle) {
  if (chain_id == et::kUnsetChainId) {
    chain_id = chain_id_;
    debug_handle = debug_handle_;
  }
  return Begin(name, chain_id, debug_handle, false, et::kUnsetDelegateDebugIntId);
}

void RingTracer::end_profiling(Entry entry) { End(entry, nullptr, 0); }

RingTracer::Entry RingTracer::start_profiling_delegate(const char* name, DelegateIntId id) {
  return Begin(name, chain_id_, debug_handle_, true, id);
}

void RingTracer::end_profiling_delegate(Entry entry, const void* metadata, size_t metadata_len) {
  End(entry, metadata, metadata_len);
}

inline RingTracer::Entry RingTracer::Begin(const char* name, ChainId chain, DebugHandle handle,
                                           bool of_delegate, DelegateIntId id) {
  Entry entry{kIgnored, chain, handle, 0, et::DelegateDebugIdType::kNone};
  const uint32_t instruction = InstructionOf(chain, handle);
  const int32_t outer = regions::t_work.instruction;
  const bool records = Records() && (!loading_ || of_delegate);
  if (records && depth_ == kMaxDepth) [[unlikely]] {
    ++unbalanced_;
    return entry;
  }
  if (instruction != record::kNoInstruction) {
    regions::t_work.instruction = static_cast<int32_t>(instruction);
    if (!records) entry.event_id = UnrecordedInside(outer);
  }
  if (!records) return entry;
  const NameCache::Entry& known = names_.Find(name);
  Open& open = stack_[depth_++];
  entry.event_id = ++last_event_id_;
  open.event_id = entry.event_id;
  open.name = known.id;
  open.info = record::PackInfo(of_delegate ? CellType::kOther : known.type, instruction);
  open.chain = chain;
  open.delegate_id = id;
  open.outer_instruction = outer;
  open.of_delegate = of_delegate;
  open.slice = record::OpenSlice(ring_);
  open.start = NowTicks();
  return entry;
}

inline void RingTracer::End(const Entry& entry, const void* metadata, size_t metadata_len) {
  const uint64_t end = NowTicks();
  if (entry.event_id <= kFirstUnrecorded) {
    regions::t_work.instruction = OuterInstruction(entry.event_id);
    return;
  }
  if (entry.event_id == kIgnored || !Records()) return;
  if (depth_ == 0 || stack_[depth_ - 1].event_id != entry.event_id) [[unlikely]] {
    if (!UnwindTo(entry.event_id)) return;
  }
  const Open& open = stack_[--depth_];
  regions::t_work.instruction = open.outer_instruction;
  record::CloseSlice(ring_, open.slice);
  const record::Cell cell{open.start, end, open.name, open.slice.id, open.slice.parent, open.info};
  if (!open.of_delegate && open.chain <= 0) [[likely]] {
    record::Publish(ring_, cell);
    return;
  }
  PublishWithExtension(cell, open.chain, open.delegate_id, open.of_delegate ? open.name : 0,
                       metadata, metadata_len);
}

void RingTracer::DropTop() {
  const Open& open = stack_[--depth_];
  regions::t_work.instruction = open.outer_instruction;
  record::CloseSlice(ring_, open.slice);
  ++unbalanced_;
}

// Makes `event_id` the top of the stack by dropping what is above it.
bool RingTracer::UnwindTo(int64_t event_id) {
  size_t at = depth_;
  while (at > 0 && stack_[at - 1].event_id != event_id) --at;
  if (at == 0) {
    ++unbalanced_;
    return false;
  }
  while (depth_ > at) DropTop();
  return true;
}

void RingTracer::log_profiling_delegate(const char* name, DelegateIntId id,
                                        et_timestamp_t start_time, et_timestamp_t end_time,
                                        const void* metadata, size_t metadata_len) {
  if (!Records()) return;
  const uint32_t name_id = names_.Find(name).id;
  const record::Cell cell{
      clock_.ToMonotonicNs(start_time),
      clock_.ToMonotonicNs(end_time),
      name_id,
      ring_->next_id++,
      ring_->current,
      record::PackInfo(CellType::kDelegateOp, InstructionOf(chain_id_, debug_handle_))};
  const bool plain = id == et::kUnsetDelegateDebugIntId && chain_id_ <= 0 &&
                     (metadata == nullptr || !metadata_len);
  if (plain) [[likely]] {
    record::Publish(ring_, cell);
    return;
  }
  PublishWithExtension(cell, chain_id_, id, name_id, metadata, metadata_len);
}

void RingTracer::PublishWithExtension(const record::Cell& cell, ChainId chain, DelegateIntId id,
                                      uint32_t debug_name, const void* metadata,
                                      size_t metadata_len) {
  record::Extension extension;
  extension.delegate_id = static_cast<int32_t>(id);
  extension.chain = static_cast<int32_t>(chain);
  extension.debug_name = debug_name;
  if (metadata != nullptr) extension.metadata = {static_cast<const char*>(metadata), metadata_len};
  if (!record::PublishExtended(ring_, cell, extension)) ++metadata_cut_;
}

}  // namespace inferprobe::executorch_engine
