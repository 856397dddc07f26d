// The one in-memory model of what was recorded: tracks of slices, runs, counters, losses. Every
// reader fills it, every writer and every analysis starts from it.
//
// The rule that people break: a track has one kind. Host-wall slices nest and add up; slices that
// an engine reported stand on tracks of their own and are never added to those.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/loss.h"
#include "profile/metric.h"
#include "profile/regions.h"

namespace inferprobe::profile {

using StringId = uint32_t;

// Interned names; id 0 is "". Stable references: a string_view stays valid for the table's life.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId Intern(std::string_view text);
  [[nodiscard]] std::string_view Get(StringId id) const { return strings_[id]; }
  [[nodiscard]] size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

constexpr uint32_t kNone = 0xFFFFFFFF;

// The latest time and the longest length that are taken from anywhere, so that a start and a length
// can be added.
constexpr int64_t kLatestNs = int64_t{1} << 61;

enum class TrackType : uint8_t {
  kThread,
  kEngine,
  kCounter,
  kMeasure,
  kRegions,      // parallel regions that a thread called; `parent` is its thread track
  kParticipant,  // what a thread (`tid`) did in parallel regions
};

struct Track {
  std::string name;
  TrackType type = TrackType::kThread;
  Kind kind = Kind::kHostWall;
  int64_t pid = 0;
  int64_t tid = 0;          // threads only
  std::string unit;         // counters only
  uint32_t parent = kNone;  // an engine track's thread track
  // The engine counts on a clock of its own, and how long its tick is, is not known: start_ns and
  // dur_ns of this track's slices are such ticks. They are times of nothing else.
  bool in_ticks = false;
  double tick_ns = 0;  // length of the engine's tick, as the user gave it; 0: not known
};

// What a slice is in the life of a run.
enum class Category : uint8_t {
  kScope,         // a scope of the user's, or of inferprobe itself (`inferprobe.drain`)
  kRun,           // one inference, as timed from outside the engine
  kSetInputs,     // handing the inputs over
  kMethod,        // the engine's own view of the whole call (ExecuTorch: Method::execute)
  kOperatorCall,  // one instruction that calls a kernel
  kKernel,        // the kernel inside it
  kDelegateCall,  // one instruction that calls a delegate
  kDelegateOp,    // an operator that the delegate reported (engine-reported track)
  kLoad,          // loading and initialising
  kOther,         // an event of the engine that is none of the above
  kRegion,        // a parallel region (profile/regions.h), on a track of its own: in no row
  kRegionPart,    // what one thread did in it; `parent` is the region's slice
  kModuleCall,    // one call of a PyTorch module (SliceArgs::module)
  kOperator,      // an operator of a framework, as its own profiler recorded it: "aten::conv2d"
  kDeviceWork,    // a kernel or copy on a device (engine track of Kind::kDevice); `parent` is the
                  // kOperator or kModuleCall that launched it
};
constexpr Category kLastCategory = Category::kDeviceWork;
const char* CategoryName(Category category);

// 32 bytes. `parent` is the index of the enclosing slice, kNone at top level.
struct Slice {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  StringId name = 0;
  uint32_t parent = kNone;
  uint16_t track = 0;
  Category category = Category::kScope;
  uint8_t flags = 0;
  uint32_t args = kNone;  // index into Profile::args
};
static_assert(sizeof(Slice) == 32);

// Facts that few slices have, or that many share. Interned by Profile::AddArgs.
struct SliceArgs {
  int32_t chain = -1;
  int32_t instruction = -1;
  int32_t delegate_debug_id = -1;    // -1: none
  StringId delegate_debug_name = 0;  // 0: none
  uint32_t metadata = kNone;         // index into Profile::metadata
  uint32_t region = kNone;           // index into Profile::regions, of a kRegion
  uint32_t region_part = kNone;      // index into Profile::region_parts, of a kRegionPart
  uint32_t module = kNone;           // index into ModuleFacts::tree, of a kModuleCall
  bool raised = false;               // a kModuleCall that ended by an exception
  bool operator==(const SliceArgs&) const = default;
};

struct CounterSample {
  int64_t time_ns = 0;
  double value = 0;
  uint16_t track = 0;
};

// An event of a framework's allocator.
struct Allocation {
  int64_t time_ns = 0;
  int64_t bytes = 0;       // negative: freed
  uint32_t slice = kNone;  // the innermost kOperator or kModuleCall around it on its thread
  bool device = false;     // in a device's memory
};

enum class RunMode : uint8_t {
  kFirst,     // the first run after load
  kWarmup,    // discarded
  kWarmupOn,  // discarded, profiling on: before the perturbation loop
  kLatency,   // the loop that latency comes from; profiling off
  kSettle,    // unmeasured: fills the caches before a run of a triple
  kSettleOn,  // the same with profiling on
  kPairOff,   // perturbation loop, profiling off
  kPairNull,  // perturbation loop, profiling off again: the A-against-A partner
  kPairOn,    // perturbation loop, profiling on: the rows come from these
  kProfiled,  // recorded elsewhere, with profiling on: rows come from these, too
};
const char* RunModeName(RunMode mode);
// Whether the rows of "where the time goes" come from runs of this mode.
constexpr bool GivesRows(RunMode mode) {
  return mode == RunMode::kPairOn || mode == RunMode::kProfiled;
}

// How a delegate's call ended. Calls of two modes are never one figure.
enum class CallMode : uint8_t {
  kUnknown,
  kBlocking,      // one call of the engine enqueues and waits
  kSynchronized,  // enqueued, then waited for, inside the call
  kAsynchronous,  // returned while work was in flight: its time is host-visible time only
};
const char* CallModeName(CallMode mode);  // "blocking"; "unknown"

// What the machine did to one run (see measure/disturbance.h).
struct RunDisturbance {
  int64_t run_queue_delay_ns = 0;  // -1: this machine does not tell
  uint32_t major_faults = 0;
  uint32_t minor_faults = 0;
  uint32_t involuntary_switches = 0;
  uint32_t voluntary_switches = 0;
};

// One inference. `first_slice`/`slice_count` bound its slices (profiled runs only; they are
// contiguous in Profile::slices, the kRun slice among them).
struct Run {
  RunMode mode = RunMode::kLatency;
  uint16_t process = 0;             // index of the worker process that ran it
  bool incomplete = false;          // events of it were dropped: it is not in the rows
  Loss why = Loss::kIncompleteRun;  // what dropped them, where it is known
  uint32_t group = 0;  // number of its triple in the perturbation loop, from 1; 0: none
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  uint32_t first_slice = 0;
  uint32_t slice_count = 0;
  RunDisturbance disturbance;
};

// Where the times of one worker process come from: CLOCK_MONOTONIC ns throughout.
struct ClockFacts {
  std::string source;        // "tsc" or "clock_gettime"
  double tick_ns = 0;        // resolution of the source
  int64_t read_cost_ps = 0;  // calibrated cost of one read
  int64_t realtime_minus_monotonic_ns = 0;
  int64_t boottime_minus_monotonic_ns = 0;
};

struct Profile {
  StringTable strings;
  std::vector<Track> tracks;
  std::vector<Slice> slices;
  std::vector<SliceArgs> args;
  std::vector<std::string> metadata;  // bytes, as a delegate gave them
  std::vector<CounterSample> counters;
  std::vector<Region> regions;
  std::vector<RegionPart> region_parts;
  std::vector<Allocation> allocations;
  std::vector<Run> runs;     // in order of time, over all processes
  bool runs_marked = false;  // the file says which they are: what is in none of them is no run
  LossCounts losses;
  ClockFacts clock;
  std::string run_id;        // 32 hex digits; also the Perfetto trace's uuid
  std::string process_name;  // "inferprobe worker"

  uint32_t AddArgs(const SliceArgs& value);  // linear in distinct values only through a hash
  [[nodiscard]] std::string_view Name(const Slice& slice) const { return strings.Get(slice.name); }

 private:
  std::unordered_map<uint64_t, std::vector<uint32_t>> args_index_;
};

}  // namespace inferprobe::profile
