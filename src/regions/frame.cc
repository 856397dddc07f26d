#include "regions/frame.h"

#include <algorithm>
#include <span>

#include "base/current_cpu.h"
#include "base/system_clock.h"
#include "base/thread_identity.h"
#include "inferprobe/clock.h"
#include "inferprobe/ring.h"
#include "regions/collector.h"

namespace inferprobe::regions {
namespace {

std::atomic<uint64_t> g_last_region_id{0};

int64_t ThisThread() {
  if (t_work.thread_id == 0) t_work.thread_id = base::ThreadId();
  return t_work.thread_id;
}

// The id of the slice that the calling thread is in, 0: none, or no recorder runs.
uint32_t CurrentSlice() {
#if defined(_WIN32)  // the recorder is not built there
  return 0;
#else
  const internal::ThreadRing* ring = internal::t_ring;
  const uint32_t recorder = internal::inferprobe_generation.load(std::memory_order_relaxed);
  return recorder != 0 && ring->generation == recorder ? ring->current : 0;
#endif
}

RegionParticipant ParticipantOf(const Frame& frame, const Place& place,
                                const ClockCalibration& clock) {
  RegionParticipant participant;
  participant.thread_id = place.thread_id;
  participant.start_ns = clock.ToNs(place.start_ticks);
  participant.busy_ns = static_cast<uint64_t>(
      std::max<int64_t>(0, clock.ToNs(place.end_ticks) - participant.start_ns));
  participant.iterations = place.iterations;
  participant.chunks = place.chunks;
  participant.first_cpu = place.first_cpu;
  participant.last_cpu = place.last_cpu;
  participant.migrations = place.migrations;
  if (frame.detail == RegionDetail::kCpuClock) {
    participant.cpu_time_status = CpuTimeStatus(place);
    if (participant.cpu_time_status == Status::kValid) {
      participant.cpu_time_ns = place.cpu_end_ns - place.cpu_start_ns;
    }
  }
  return participant;
}

// Fills `event.participants`, which has room for some.
void SetParticipants(const Frame& frame, const ClockCalibration& clock,
                     std::span<RegionParticipant> room, ParallelRegionEvent* event) {
  if (frame.detail == RegionDetail::kWall) return;
  const uint32_t entered = frame.entered.load(std::memory_order_relaxed);
  const size_t kept = std::min({size_t{entered}, kMaxPlaces, room.size()});
  event->observed_threads = static_cast<int32_t>(entered);
  event->participants_dropped = static_cast<uint32_t>(entered - kept);
  event->participants_status = kept == entered ? Status::kValid : Status::kOverflow;
  const size_t places = std::min(size_t{entered}, kMaxPlaces);
  // The caller's first, wherever it stands: it may have come later than others, and than the last
  // that has room.
  size_t callers = 0;
  while (callers < places && frame.places[callers].thread_id != frame.thread_id) ++callers;
  size_t count = 0;
  if (callers < places && kept > 0) {
    room[count++] = ParticipantOf(frame, frame.places[callers], clock);
  }
  for (size_t i = 0; i < places && count < kept; ++i) {
    if (i != callers) room[count++] = ParticipantOf(frame, frame.places[i], clock);
  }
  event->participants = room.first(kept);
}

void SetProcessCpu(const Frame& frame, uint64_t process_cpu_end_ns, ParallelRegionEvent* event) {
  if (frame.detail != RegionDetail::kCpuClock) return;
  if (frame.process_cpu_start_ns == kNoCpuTime || process_cpu_end_ns == kNoCpuTime) {
    event->process_cpu_status = Status::kUnsupported;
  } else if (event->wall_time_ns < kShortestCpuTimeNs) {
    event->process_cpu_status = Status::kBelowResolution;
  } else {
    event->process_cpu_status = Status::kValid;
    event->process_cpu_time_ns = process_cpu_end_ns - frame.process_cpu_start_ns;
  }
  event->cpu_utilization_status = event->process_cpu_status;
  if (event->process_cpu_status != Status::kValid) return;
  if (event->admitted_threads <= 0) {
    event->cpu_utilization_status = Status::kNotMeasured;
    return;
  }
  event->cpu_utilization = static_cast<double>(event->process_cpu_time_ns) /
                           (static_cast<double>(event->wall_time_ns) * event->admitted_threads);
}

void Describe(const Frame& frame, uint64_t end_ticks, uint64_t process_cpu_end_ns,
              std::span<RegionParticipant> room, ParallelRegionEvent* event) {
  const ClockCalibration& clock = Clock();
  *event = ParallelRegionEvent{};
  event->region_id = frame.region_id;
  event->label = frame.what.label;
  event->location = frame.what.location;
  event->total_iterations = frame.what.iterations;
  event->grain_size = frame.what.grain;
  event->requested_threads = frame.what.requested;
  event->admitted_threads = frame.admitted;
  event->executor_id = frame.what.executor_id;
  event->code = frame.what.code;
  event->nested_inline = frame.nested_inline;
  event->failed = frame.failed;
  event->session_id = frame.session_id;
  event->run_id = frame.run_id;
  event->thread_id = frame.thread_id;
  if (frame.parent != nullptr) event->parent_region_id = frame.parent->region_id;
  if (frame.instruction >= 0) event->instruction = frame.instruction;
  if (frame.operator_slice != 0) event->operator_slice = frame.operator_slice;
  event->start_ns = clock.ToNs(frame.start_ticks);
  event->wall_time_ns =
      static_cast<uint64_t>(std::max<int64_t>(0, clock.ToNs(end_ticks) - event->start_ns));
  SetParticipants(frame, clock, room, event);
  SetProcessCpu(frame, process_cpu_end_ns, event);
}

// Also for its session, whose collector may be that of others, too.
void CountDrop(const Frame& frame) {
  if (frame.drops == nullptr || frame.drops->collector != frame.collector) return;
  frame.drops->count.fetch_add(1, std::memory_order_relaxed);
}

void Refuse(const Frame& frame, ParallelRegionCollector::Impl* impl) {
  impl->refused.fetch_add(1, std::memory_order_relaxed);
  CountDrop(frame);
}

void Deliver(const Frame& frame, const ParallelRegionEvent& event,
             ParallelRegionCollector::Impl* impl) {
  t_work.in_callback = true;
  try {
    impl->callback(event);
  } catch (...) {  // it must not, and a loop does not fail because of who watches it
    Refuse(frame, impl);
  }
  t_work.in_callback = false;
}

}  // namespace

constinit thread_local CurrentWork t_work;

Status CpuTimeStatus(const Place& place) {
  if (place.cpu_start_ns == kNoCpuTime) return Status::kUnsupported;
  if (place.cpu_end_ns == kNoCpuTime) return Status::kBelowResolution;
  const auto busy = static_cast<double>(static_cast<int64_t>(place.end_ticks - place.start_ticks));
  const auto after = static_cast<double>(static_cast<int64_t>(place.end_ticks - place.cpu_ticks));
  return after <= kMostBusyWithoutCpuTime * busy ? Status::kValid : Status::kBelowResolution;
}

void ForgetThreadsAtFork() {
  static const bool done = [] {
    base::OnFork(nullptr, nullptr, [] { t_work.thread_id = 0; });
    return true;
  }();
  (void)done;
}

void BeginRegion(Frame* frame, ParallelRegionCollector* collector, const Described& what) noexcept {
  frame->collector = collector;
  frame->detail = collector->impl().detail;
  frame->what = what;
  frame->region_id = g_last_region_id.fetch_add(1, std::memory_order_relaxed) + 1;
  frame->thread_id = ThisThread();
  frame->operator_slice = CurrentSlice();
  frame->outer_region = t_work.entered_region;
  frame->outer_place = t_work.place;
  const Frame* parent = t_work.inside;
  frame->parent = parent;
  frame->in_callback = t_work.in_callback || (parent != nullptr && parent->in_callback);
  // A body's loops are of the run that its own loop is of, whichever thread it runs on; unless the
  // body began a run of its own.
  const bool own_run = parent == nullptr || parent == t_work.run_inside;
  frame->session_id = own_run ? t_work.session_id : parent->session_id;
  frame->run_id = own_run ? t_work.run_id : parent->run_id;
  frame->drops = own_run ? t_work.drops : parent->drops;
  const bool own_operator = parent == nullptr || parent == t_work.operator_inside;
  frame->instruction = own_operator ? t_work.instruction : parent->instruction;
  if (frame->detail == RegionDetail::kCpuClock) {
    frame->process_cpu_start_ns = base::ProcessCpuNs().value_or(kNoCpuTime);
    frame->cpu_reading_ticks =
        static_cast<uint64_t>(static_cast<double>(kCpuReadingNs) / Clock().ns_per_tick);
  }
  frame->start_ticks = NowTicks();
}

void Enter(Frame* frame) noexcept {
  t_work.entered_region = frame->region_id;
  const uint32_t index = frame->entered.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxPlaces) {
    t_work.place = nullptr;
    return;
  }
  Place* place = &frame->places[index];
  t_work.place = place;
  const int32_t cpu = base::CurrentCpu();
  *place = Place{};
  place->thread_id = ThisThread();
  place->first_cpu = cpu;
  place->last_cpu = cpu;
  place->start_ticks = NowTicks();
  place->end_ticks = place->start_ticks;
  if (frame->detail != RegionDetail::kCpuClock) return;
  // Between the readings of the other clock, here and at the end of a chunk: what the CPU clock
  // counts is a part of the busy time, with the readings themselves.
  place->cpu_start_ns = base::ThreadCpuNs().value_or(kNoCpuTime);
  place->cpu_end_ns = kNoCpuTime;
  place->cpu_ticks = NowTicks();
}

void EndChunk(Frame* frame, Place* place, uint64_t iterations) noexcept {
  uint64_t now = NowTicks();
  if (frame->detail == RegionDetail::kCpuClock &&
      now - place->cpu_ticks >= frame->cpu_reading_ticks) {
    place->cpu_end_ns = base::ThreadCpuNs().value_or(kNoCpuTime);
    now = NowTicks();
    place->cpu_ticks = now;
  }
  place->end_ticks = now;
  place->iterations += iterations;
  ++place->chunks;
  const int32_t cpu = base::CurrentCpu();
  if (cpu != place->last_cpu) {
    place->last_cpu = cpu;
    ++place->migrations;
  }
}

void EndRegion(Frame* frame) noexcept {
  const uint64_t end_ticks = NowTicks();
  uint64_t process_cpu_end_ns = 0;
  if (frame->detail == RegionDetail::kCpuClock) {
    process_cpu_end_ns = base::ProcessCpuNs().value_or(kNoCpuTime);
  }
  t_work.entered_region = frame->outer_region;
  t_work.place = frame->outer_place;

  ParallelRegionCollector::Impl& impl = frame->collector->impl();
  if (impl.callback) {
    // What the callback itself runs would call it again, without an end.
    if (frame->in_callback) return Refuse(*frame, &impl);
    std::array<RegionParticipant, kMaxPlaces> participants;
    ParallelRegionEvent event;
    Describe(*frame, end_ticks, process_cpu_end_ns, participants, &event);
    Deliver(*frame, event, &impl);
    return;
  }
  const uint64_t index = impl.claimed.fetch_add(1, std::memory_order_relaxed);
  if (index >= impl.capacity) return CountDrop(*frame);
  const size_t room = impl.participants_per_event;
  ParallelRegionCollector::Impl::Slot& slot = impl.slots[index];
  Describe(*frame, end_ticks, process_cpu_end_ns, {&impl.participants[index * room], room},
           &slot.event);
  slot.ready.store(true, std::memory_order_release);
}

}  // namespace inferprobe::regions
