#include "inferprobe/recorder.h"

#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/thread_identity.h"
#include "record/process_state.h"

namespace inferprobe {

namespace {

// nullopt: no slice.
std::optional<ScopeType> ScopeTypeOf(const record::Cell& cell) {
  switch (record::TypeOf(cell)) {
    case record::CellType::kScope:
      return ScopeType::kUser;
    case record::CellType::kSetInputs:
      return ScopeType::kSetInputs;
    case record::CellType::kMethod:
      return ScopeType::kMethod;
    case record::CellType::kOperatorCall:
      return ScopeType::kOperatorCall;
    case record::CellType::kKernel:
      return ScopeType::kKernel;
    case record::CellType::kDelegateCall:
      return ScopeType::kDelegateCall;
    case record::CellType::kDelegateOp:
      return ScopeType::kDelegateOp;
    case record::CellType::kOther:
      return ScopeType::kOther;
    default:
      return std::nullopt;
  }
}

}  // namespace

struct Recorder::Impl {
  std::shared_ptr<record::Block> block;  // nullptr once stopped
  int64_t pid = 0;
  uint64_t dropped = 0;  // told by Drain() so far
};

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&& other) noexcept {
  if (this != &other) {
    Stop();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Recorder::~Recorder() { Stop(); }

Result<Recorder> Recorder::Start(const RecorderOptions& options) {
  Clock();  // before any thread can read ticks; waits up to 20 ms the first time
  record::ProcessState& state = record::State();
  const std::lock_guard lock(state.mutex);
  if (state.active != nullptr) {
    return MakeError(ErrorCode::kAlreadyExists, "a recorder is running in this process already",
                     "stop it first");
  }
  Result<std::shared_ptr<record::Block>> block = record::Block::Create(options);
  if (!block) return tl::unexpected(block.error());
  record::Header* header = (*block)->header();
  for (const std::string& name : state.names.names()) {
    record::AppendName(header, (*block)->names(), name);
  }
  header->magic.store(record::kMagic, std::memory_order_release);

  auto impl = std::make_unique<Impl>();
  impl->block = *block;
  impl->pid = base::ProcessId();
  state.active = *std::move(block);
  internal::inferprobe_generation.store(++state.generations, std::memory_order_release);
  return Recorder(std::move(impl));
}

void Recorder::Stop() {
  if (impl_ == nullptr || impl_->block == nullptr) return;
  record::ProcessState& state = record::State();
  const std::lock_guard lock(state.mutex);
  if (state.active == impl_->block) {
    internal::inferprobe_generation.store(0, std::memory_order_release);
    state.active.reset();
  }
  if (impl_->pid == base::ProcessId()) impl_->block->memory().Discard();
  impl_->block.reset();
}

DrainedScopes Recorder::Drain() {
  DrainedScopes drained;
  if (impl_ == nullptr || impl_->block == nullptr || impl_->pid != base::ProcessId()) {
    return drained;
  }
  const record::Block& block = *impl_->block;
  record::ProcessState& state = record::State();
  const auto name_of = [&](uint32_t id) -> std::string_view {
    const std::lock_guard lock(state.mutex);
    if (id == 0) return "";
    return id <= state.names.names().size() ? std::string_view(state.names.names()[id - 1])
                                            : "(name lost)";
  };
  const ClockCalibration& clock = Clock();
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < block.plan().ring_count; ++i) {
    record::RingHeader* ring = block.ring(i);
    const uint64_t head = ring->head.load(std::memory_order_acquire);
    uint64_t tail = ring->tail.load(std::memory_order_relaxed);
    dropped += ring->dropped.load(std::memory_order_relaxed);
    if (tail == head) continue;
    const record::Cell* cells = block.cells(i);
    for (; tail != head; ++tail) {
      const record::Cell& cell = cells[tail & (block.plan().ring_capacity - 1)];
      const int64_t start_ns = clock.ToNs(cell.start);
      if (cell.info == record::kCounterInfo) {
        RecordedCounter counter{name_of(cell.name), start_ns, 0, ring->tid};
        std::memcpy(&counter.value, &cell.end, sizeof counter.value);
        drained.counters.push_back(counter);
      } else if (const std::optional<ScopeType> type = ScopeTypeOf(cell)) {
        RecordedScope scope{name_of(cell.name),
                            start_ns,
                            clock.ToNs(cell.end) - start_ns,
                            ring->tid,
                            cell.id,
                            cell.parent,
                            *type,
                            -1};
        if (*type == ScopeType::kDelegateOp) {  // nanoseconds already
          scope.start_ns = static_cast<int64_t>(cell.start);
          scope.dur_ns = static_cast<int64_t>(cell.end - cell.start);
        }
        const uint32_t instruction = cell.info & record::kInfoMask;
        const bool calls = *type == ScopeType::kOperatorCall || *type == ScopeType::kKernel ||
                           *type == ScopeType::kDelegateCall || *type == ScopeType::kDelegateOp;
        if (calls && instruction != record::kNoInstruction) {
          scope.instruction = static_cast<int32_t>(instruction);
        }
        drained.scopes.push_back(scope);
      }
    }
    ring->tail.store(head, std::memory_order_release);
  }
  drained.dropped = dropped - std::exchange(impl_->dropped, dropped);
  drained.no_ring = block.header()->no_ring.load(std::memory_order_relaxed);
  return drained;
}

const void* Recorder::memory() const {
  return impl_ == nullptr || impl_->block == nullptr ? nullptr : impl_->block->memory().data();
}

size_t Recorder::memory_bytes() const {
  return impl_ == nullptr || impl_->block == nullptr ? 0 : impl_->block->memory().size();
}

}  // namespace inferprobe
