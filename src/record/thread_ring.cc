// Attaching threads to rings and letting them go: everything about a ring that is not the hot path.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_identity.h"
#include "inferprobe/ring.h"
#include "inferprobe/scope.h"
#include "record/process_state.h"
#include "record/ring_writer.h"

namespace inferprobe {
namespace internal {

std::atomic<uint32_t> inferprobe_generation{0};

namespace {
// Generation 0 and no room: the first look at it leads to Attach().
constinit ThreadRing g_no_ring;
}  // namespace

constinit thread_local ThreadRing* t_ring = &g_no_ring;

}  // namespace internal

namespace record {
namespace {

// A thread's hold on a ring of a block.
struct Attachment {
  ThreadRing hot;
  std::shared_ptr<Block> block;
  RingHeader* header = nullptr;  // nullptr: a surplus thread, its events are only counted

  // The ring may go to another thread once it is drained.
  void Release() {
    if (header != nullptr) {
      header->state.store(static_cast<uint32_t>(RingState::kEnded), std::memory_order_release);
    }
    header = nullptr;
    block.reset();
  }

  // Nothing fits any more, and nothing is counted.
  void Disconnect() {
    hot.limit = hot.head;
    hot.shared_tail = nullptr;
    hot.lost = nullptr;
  }
};

thread_local bool t_thread_is_over = false;

// A thread has one attachment. Only if it opened a slice under one recorder and still has it open
// when it first records under another, there is a second.
struct Attachments {
  std::vector<std::unique_ptr<Attachment>> all;

  ~Attachments() {
    t_thread_is_over = true;
    internal::t_ring = &internal::g_no_ring;
    const std::lock_guard lock(State().mutex);
    for (auto& attachment : all) attachment->Release();
  }

  Attachment& Reusable() {
    for (auto& attachment : all) {
      if (attachment->hot.current == 0) return *attachment;
    }
    return *all.emplace_back(std::make_unique<Attachment>());
  }
};

Attachments& OfThisThread() {
  thread_local Attachments attachments;
  return attachments;
}

bool TryTake(RingHeader* ring) {
  const auto state = static_cast<RingState>(ring->state.load(std::memory_order_acquire));
  if (state == RingState::kActive) return false;
  // The reader may still be in it: only a ring that it has emptied changes its owner.
  if (ring->tail.load(std::memory_order_acquire) != ring->head.load(std::memory_order_relaxed)) {
    return false;
  }
  ring->tid = base::ThreadId();
  const std::string name = base::ThreadName();
  std::memset(ring->thread_name, 0, sizeof ring->thread_name);
  std::memcpy(ring->thread_name, name.data(), std::min(name.size(), sizeof ring->thread_name - 1));
  ring->owner.fetch_add(1, std::memory_order_relaxed);
  ring->state.store(static_cast<uint32_t>(RingState::kActive), std::memory_order_release);
  return true;
}

void Connect(Attachment& attachment, const std::shared_ptr<Block>& block, uint32_t generation) {
  attachment.Release();
  attachment.block = block;
  attachment.hot = ThreadRing{};
  ThreadRing& hot = attachment.hot;
  hot.generation = generation;
  hot.lost = &block->header()->no_ring;
  for (uint32_t i = 0; i < block->plan().ring_count; ++i) {
    RingHeader* ring = block->ring(i);
    if (!TryTake(ring)) continue;
    attachment.header = ring;
    if (!block->ReserveRing(i)) {  // out of memory or disk: the thread's events are counted
      attachment.header = nullptr;
      ring->state.store(static_cast<uint32_t>(RingState::kEnded), std::memory_order_release);
      return;
    }
    hot.cells = block->cells(i);
    hot.mask = block->plan().ring_capacity - 1;
    hot.head = ring->head.load(std::memory_order_relaxed);
    hot.limit = hot.head + block->plan().ring_capacity;
    hot.shared_head = &ring->head;
    hot.shared_tail = &ring->tail;
    hot.lost = &ring->dropped;
    return;
  }
}

void BeforeFork() { State().mutex.lock(); }
void AfterForkInParent() { State().mutex.unlock(); }

// The parent's rings may be memory that both processes see: this one must not write there.
void AfterForkInChild() {
  ProcessState& state = State();
  internal::inferprobe_generation.store(0, std::memory_order_relaxed);
  state.active.reset();
  if (!t_thread_is_over) {
    for (auto& attachment : OfThisThread().all) {
      attachment->Disconnect();
      attachment->header = nullptr;
    }
  }
  state.mutex.unlock();
}

}  // namespace

ProcessState& State() {
  static ProcessState* state = [] {
    auto* fresh = new ProcessState;
    base::OnFork(BeforeFork, AfterForkInParent, AfterForkInChild);
    return fresh;
  }();
  return *state;
}

uint32_t InternName(std::string_view name) {
  ProcessState& state = State();
  const std::lock_guard lock(state.mutex);
  const NameRegistry::Interned interned = state.names.Intern(name);
  if (state.active != nullptr && interned.fresh) {
    if (interned.id == NameRegistry::kLostId) {
      state.active->header()->names_lost.fetch_add(1, std::memory_order_relaxed);
    } else {
      AppendName(state.active->header(), state.active->names(), name);
    }
  }
  return interned.id;
}

}  // namespace record

namespace internal {

ThreadRing* Attach() noexcept {
  if (record::t_thread_is_over) return nullptr;
  record::Attachments& attachments = record::OfThisThread();
  record::ProcessState& state = record::State();
  const std::lock_guard lock(state.mutex);
  if (state.active == nullptr) return nullptr;
  if (t_ring->generation != state.generations) {
    record::Attachment& attachment = attachments.Reusable();
    record::Connect(attachment, state.active, state.generations);
    t_ring = &attachment.hot;
  }
  return t_ring;
}

bool MakeRoom(ThreadRing* ring, uint64_t count) noexcept {
  if (ring->shared_tail != nullptr) {
    const uint64_t tail = ring->shared_tail->load(std::memory_order_acquire);
    const uint64_t capacity = ring->mask + 1;
    // The reader may be another process. A tail beyond what was published is not believed.
    const uint64_t unread = ring->head - tail;
    if (unread <= capacity) ring->limit = tail + capacity;
    if (unread <= capacity && capacity - unread >= count) return true;
  }
  if (ring->lost != nullptr) ring->lost->fetch_add(count, std::memory_order_relaxed);
  return false;
}

uint32_t RegisterName(const char* name) noexcept {
  // A site's id must not stay 0, or each of its scopes would come here.
  const uint32_t id = record::InternName(name != nullptr ? name : "");
  return id == 0 ? record::InternName("(no name)") : id;
}

}  // namespace internal

void PublishCounter(Site& site, double value) noexcept {
  const uint32_t generation = internal::inferprobe_generation.load(std::memory_order_relaxed);
  internal::ThreadRing* ring = generation == 0 ? nullptr : internal::RingOf(generation);
  if (ring == nullptr) return;
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  internal::Publish(
      ring, {NowTicks(), bits, internal::NameOf(site), 0, ring->current, record::kCounterInfo});
}

}  // namespace inferprobe
