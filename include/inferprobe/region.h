// Parallel regions: which loop ran on how many threads, and how busy each of them was.
//
//   auto regions = std::make_shared<inferprobe::ParallelRegionCollector>(
//       inferprobe::RegionCollectorOptions{.capacity = 4096});
//   inferprobe::RuntimeSessionOptions options;
//   options.regions = regions;                           // off without it
//   auto session = inferprobe::RuntimeSession::Load("model.pte", options);
//   session->Run();
//   const inferprobe::ParallelRegionReport report = regions->Report();
//   for (const inferprobe::ParallelRegionEvent& region : report.events) ...
//   report.dropped;                                      // events that found no place
//
// The rule that people break: idle is not a saving. What a region leaves idle is an upper bound of
// what a better split could win, and a figure whose status is not kValid is no zero.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "inferprobe/api.h"
#include "inferprobe/status.h"

namespace inferprobe {

namespace regions {
struct DropCount;
struct Frame;
}  // namespace regions

// How closely a region is looked at. What each costs: docs/measure/parallel.md.
enum class RegionDetail : uint8_t {
  kWall,      // two readings of the clock
  kBusy,      // and who took part, how long and on which CPU
  kCpuClock,  // and the CPU clocks of the process and of each participant: syscalls, of which a
              // participant makes two, and at most one more every 20 us
};

// The process's CPU clock learns with a delay what other threads do now: of a shorter region it
// says nothing, and its figures have the status kBelowResolution.
constexpr uint64_t kShortestCpuTimeNs = 1'000'000;

// A hardware counter's figure. `scale`: of a multiplexed one, which is an estimate.
struct HardwareCounter {
  uint64_t value = 0;
  Status status = Status::kNotRequested;
  double scale = 1;
};
struct HardwareCounterSample {
  HardwareCounter cycles, instructions, llc_references, llc_misses, time_enabled, time_running;
};

// One thread's part in a region. A thread takes part when it ran at least one chunk.
struct RegionParticipant {
  int64_t thread_id = 0;    // as the system counts them
  int64_t start_ns = 0;     // of its first chunk, on the clock of ParallelRegionEvent::start_ns
  uint64_t busy_ns = 0;     // from there to the end of its last chunk; includes preemption
  uint64_t iterations = 0;  // 0 where the pool does not tell, as `chunks` always does
  uint32_t chunks = 0;
  int32_t first_cpu = -1;  // -1: this system does not tell
  int32_t last_cpu = -1;
  uint32_t migrations = 0;  // seen from chunk to chunk: a lower bound
  // Of its thread's CPU clock, between readings inside its busy time. kBelowResolution: it was busy
  // for less than 20 us, or the last reading leaves out more than 5 % of what it was busy.
  uint64_t cpu_time_ns = 0;
  Status cpu_time_status = Status::kNotRequested;
};

// One parallel loop that ran. What each figure includes: docs/measure/parallel.md.
struct ParallelRegionEvent {
  uint64_t region_id = 0;  // unique in the process, from 1
  std::string_view label;  // static or interned: outlives the report
  // Of the call; line 0: the runtime does not tell.
  std::source_location location;
  int64_t total_iterations = 0;
  int64_t grain_size = 0;
  int32_t requested_threads = 0;  // that the loop could have had: the pool's size, or its limit
  // That the pool let in: the caller and, as far as limit and chunks allow, the threads that were
  // free when it began or came free in time to take part. Without iterations 0; nested inline 1.
  int32_t admitted_threads = 0;
  int32_t observed_threads = 0;  // that ran at least one chunk; 0 where it is not known (kWall)
  uint64_t wall_time_ns = 0;
  uint64_t process_cpu_time_ns = 0;  // of all threads of the process
  // process CPU time / (wall x admitted). Descriptive, neither a score nor bounded by 1.
  std::optional<double> cpu_utilization;
  HardwareCounterSample counters;

  Status wall_status = Status::kValid;
  Status process_cpu_status = Status::kNotRequested;
  Status cpu_utilization_status = Status::kNotRequested;
  Status participants_status = Status::kNotRequested;  // of everything about participants

  std::optional<uint64_t> parent_region_id;
  bool nested_inline = false;  // ran inside another region, on the thread that met it
  bool failed = false;         // the body threw; what had run is what is counted
  uint64_t session_id = 0;     // 0: outside of any
  uint64_t run_id = 0;         // counts the session's runs, from 1
  uint64_t executor_id = 0;    // 0: the runtime's own pool
  int64_t thread_id = 0;       // the calling thread
  int64_t start_ns = 0;        // CLOCK_MONOTONIC, or what the system has for it
  // The operator or delegate call that it ran in: the instruction's index, and the id of its slice
  // in the calling thread's ring where a recorder ran.
  std::optional<int32_t> instruction;
  std::optional<uint32_t> operator_slice;
  const void* code = nullptr;  // of the loop's body, where the runtime gives nothing else

  // The caller first, if it took part; then in the order in which they came.
  std::span<const RegionParticipant> participants;
  uint32_t participants_dropped = 0;  // that found no place

  // Over the participants; nullopt where not all of them are known.
  [[nodiscard]] INFERPROBE_API std::optional<uint64_t> busy_ns() const;  // their sum
  // busy / (wall x admitted); nullopt also where nobody was admitted.
  [[nodiscard]] INFERPROBE_API std::optional<double> busy_utilization() const;
  [[nodiscard]] INFERPROBE_API std::optional<double> imbalance() const;  // longest / mean, of two
  [[nodiscard]] INFERPROBE_API std::optional<uint64_t> worker_cpu_time_ns() const;  // of CPU clocks
  // requested x wall - busy: an upper bound of what could be won, and no saving. nullopt also where
  // nested_inline: its thread is counted in the region around it.
  [[nodiscard]] INFERPROBE_API std::optional<uint64_t> idle_core_ns() const;
};

// Copies of what a collector kept. Movable; its events point into it.
struct ParallelRegionReport {
  std::vector<ParallelRegionEvent> events;  // by start
  uint64_t dropped = 0;                     // that found no place

  std::vector<RegionParticipant> storage;
  ParallelRegionReport() = default;
  ParallelRegionReport(ParallelRegionReport&&) = default;
  ParallelRegionReport& operator=(ParallelRegionReport&&) = default;
};

struct RegionCollectorOptions {
  size_t capacity = 4096;  // events
  // Of an event with more, the rest are counted. 0: as many as the machine has CPUs, but at
  // least 8.
  size_t participants_per_event = 0;
  RegionDetail detail = RegionDetail::kBusy;
  // Called on the region's calling thread at its end, instead of keeping it. The event and what it
  // points to live until it returns. It must not throw, and it is part of what is measured of
  // everything around the region. It may run in the middle of an engine's call, with the engine's
  // locks held: it must not run a model (RuntimeSession::Run() refuses).
  std::function<void(const ParallelRegionEvent&)> callback{};
};

// Keeps the first `capacity` events and counts the rest. All of its memory is allocated here; it
// never blocks, allocates or grows afterwards. Any number of threads may record; each writes to
// places of its own.
class INFERPROBE_API ParallelRegionCollector {
 public:
  explicit ParallelRegionCollector(RegionCollectorOptions options = {});
  ~ParallelRegionCollector();
  ParallelRegionCollector(const ParallelRegionCollector&) = delete;
  ParallelRegionCollector& operator=(const ParallelRegionCollector&) = delete;

  // What ended until now, while others may still record.
  [[nodiscard]] ParallelRegionReport Report() const;
  // Forgets all events and the dropped count. Precondition: no region is being recorded.
  void Clear();

  [[nodiscard]] size_t capacity() const;
  [[nodiscard]] uint64_t dropped() const;
  [[nodiscard]] RegionDetail detail() const;

  // For inferprobe's own recording side (src/regions/).
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Whose regions these are: a session gives its runs numbers. RuntimeSession does it by itself; for
// the author of another runtime.
class RegionSession {
 public:
  INFERPROBE_API RegionSession();  // the next id of the process
  [[nodiscard]] uint64_t id() const { return id_; }

 private:
  friend class RegionRun;
  uint64_t id_;
  std::atomic<uint64_t> runs_{0};
};

// From here to the end of the block, regions that the calling thread starts are of the session's
// next run; also inside a loop's body, and then loops inside that one are, on whichever thread.
class INFERPROBE_API RegionRun {
 public:
  explicit RegionRun(RegionSession& session);
  ~RegionRun();
  RegionRun(const RegionRun&) = delete;
  RegionRun& operator=(const RegionRun&) = delete;
  [[nodiscard]] uint64_t id() const { return id_; }

 private:
  uint64_t id_;
  uint64_t outer_session_;
  uint64_t outer_run_;
  regions::DropCount* outer_drops_;
  const regions::Frame* outer_run_inside_;
  int32_t outer_instruction_;
  const regions::Frame* outer_operator_inside_;
};

// And are in this operator.
class INFERPROBE_API RegionOperator {
 public:
  explicit RegionOperator(int32_t instruction);
  ~RegionOperator();
  RegionOperator(const RegionOperator&) = delete;
  RegionOperator& operator=(const RegionOperator&) = delete;

 private:
  int32_t outer_;
  const regions::Frame* outer_inside_;
};

}  // namespace inferprobe
