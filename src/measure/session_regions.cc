#include "measure/session_regions.h"

#include <algorithm>
#include <utility>

#include "base/code_address.h"
#include "profile/loss.h"
#include "record/layout.h"
#include "regions/collector.h"
#include "regions/frame.h"

namespace inferprobe::measure {
namespace {

using record::CellType;
using regions::t_work;

constexpr size_t kCellsOfRegion = 5;
constexpr size_t kCellsOfParticipant = 2;

uint32_t Flags(const ParallelRegionEvent& event) {
  return (event.nested_inline ? record::kRegionNestedInline : 0) |
         (event.failed ? record::kRegionFailed : 0) |
         static_cast<uint32_t>(event.process_cpu_status) << record::kRegionProcessCpuShift |
         static_cast<uint32_t>(event.participants_status) << record::kRegionParticipantsShift;
}

uint32_t InstructionInfo(const ParallelRegionEvent& event) {
  const int32_t instruction = event.instruction.value_or(-1);
  if (instruction < 0 || static_cast<uint32_t>(instruction) >= record::kNoInstruction) {
    return record::kNoInstruction;
  }
  return static_cast<uint32_t>(instruction);
}

}  // namespace

SessionRegions::SessionRegions(std::shared_ptr<ParallelRegionCollector> collector)
    : collector_(std::move(collector)) {
  drops_.collector = collector_.get();
  cells_.reserve(kCellsOfRegion + kCellsOfParticipant * regions::kMaxPlaces);
}

SessionRegions::~SessionRegions() {
  if (run_) EndRun();
}

void SessionRegions::BeginRun() {
  first_event_ = collector_->impl().claimed.load(std::memory_order_relaxed);
  drops_.count.store(0, std::memory_order_relaxed);
  outer_ = {t_work.hooked, t_work.depth};
  run_.emplace(session_);
  run_id_ = run_->id();
  t_work.hooked = collector_.get();
  t_work.drops = &drops_;
  t_work.depth = 0;  // a run inside a loop of another has loops of its own
}

void SessionRegions::EndRun() {
  t_work.hooked = outer_.hooked;
  t_work.depth = outer_.depth;
  run_.reset();
}

void SessionRegions::Publish(record::ThreadRing* ring) {
  if (ring == nullptr) return;
  const ParallelRegionCollector::Impl& impl = collector_->impl();
  const uint64_t end =
      std::min<uint64_t>(impl.claimed.load(std::memory_order_acquire), impl.capacity);
  for (uint64_t i = first_event_; i < end; ++i) {
    const ParallelRegionCollector::Impl::Slot& slot = impl.slots[i];
    // Others may share the collector.
    if (!slot.ready.load(std::memory_order_acquire)) continue;
    if (slot.event.session_id != session_.id() || slot.event.run_id != run_id_) continue;
    PublishOne(ring, slot.event);
  }
  const uint64_t dropped = drops_.count.exchange(0, std::memory_order_relaxed);
  if (dropped == 0) return;
  record::Publish(ring, {dropped, 0, 0, 0, 0,
                         record::PackInfo(CellType::kLoss,
                                          static_cast<uint32_t>(profile::Loss::kRegionsDropped))});
}

void SessionRegions::PublishOne(record::ThreadRing* ring, const ParallelRegionEvent& event) {
  const auto start = static_cast<uint64_t>(event.start_ns);
  const auto facts = record::PackInfo(CellType::kRegionFacts, 0);
  cells_.clear();
  cells_.push_back({start, start + event.wall_time_ns, NameId(event.label),
                    static_cast<uint32_t>(event.participants.size()),
                    event.operator_slice.value_or(0),
                    record::PackInfo(CellType::kRegion, InstructionInfo(event))});
  cells_.push_back({event.region_id, event.parent_region_id.value_or(0),
                    NameId(event.location.file_name()), event.location.line(),
                    NameId(event.location.function_name()),
                    record::PackInfo(CellType::kRegionFacts, Flags(event))});
  cells_.push_back({static_cast<uint64_t>(event.total_iterations),
                    static_cast<uint64_t>(event.grain_size),
                    static_cast<uint32_t>(event.requested_threads),
                    static_cast<uint32_t>(event.admitted_threads),
                    static_cast<uint32_t>(event.observed_threads), facts});
  cells_.push_back({event.session_id, event.run_id, static_cast<uint32_t>(event.executor_id),
                    event.participants_dropped, CodeId(event.code), facts});
  cells_.push_back(
      {event.process_cpu_time_ns, 0, static_cast<uint32_t>(event.thread_id), 0, 0, facts});
  for (const RegionParticipant& participant : event.participants) {
    const auto info = record::PackInfo(CellType::kRegionPart, 0);
    const auto from = static_cast<uint64_t>(participant.start_ns);
    cells_.push_back({from, from + participant.busy_ns,
                      static_cast<uint32_t>(participant.thread_id), participant.chunks,
                      participant.migrations, info});
    cells_.push_back({participant.iterations, participant.cpu_time_ns,
                      static_cast<uint32_t>(participant.first_cpu),
                      static_cast<uint32_t>(participant.last_cpu),
                      static_cast<uint32_t>(participant.cpu_time_status), info});
  }
  record::PublishGroup(ring, cells_);
}

// The table is asked once for each name: it takes a lock.
uint32_t SessionRegions::NameId(std::string_view name) {
  if (name.empty()) return 0;
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  return names_.emplace(name, record::InternName(name)).first->second;
}

uint32_t SessionRegions::CodeId(const void* code) {
  if (code == nullptr) return 0;
  const auto [place, fresh] = codes_.try_emplace(code, 0);
  if (fresh) place->second = NameId(base::CodeAddressText(code));
  return place->second;
}

}  // namespace inferprobe::measure
