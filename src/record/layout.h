// The recorder's memory: one block that may be private, shared with a parent process (memfd) or a
// mapped file. Everything a reader needs is in the block, so it can be read while the writer lives,
// after it was killed, and on another machine of the same byte order.
//
//   Header | RingHeader[ring_count] | names | Cell[ring_capacity] x ring_count
//
// The rule that people break: a cell is valid only below its ring's published `head`. A writer
// fills the cell first, then stores head with release; a reader loads head with acquire. A killed
// writer loses nothing below head.
#pragma once

#include <atomic>
#include <cstdint>

#include "inferprobe/ring.h"

namespace inferprobe::record {

// What a cell holds, in the top 8 bits of Cell::info.
enum class CellType : uint8_t {
  kInvalid = 0,
  kScope,  // start, end in ticks; a scope of the user's or inferprobe's own
  kRun,    // start, end in ticks; info24 = profile::RunMode | group << 4
  kSetInputs,
  kMethod,
  kOperatorCall,  // info24 = instruction (kNoInstruction: none)
  kKernel,
  kDelegateCall,
  kDelegateOp,  // start, end in CLOCK_MONOTONIC ns as the engine said; parent = id of the
                // delegate call; info24 = that call's instruction
  kLoad,
  kOther,
  kCounter,    // start = ticks, end = bits of a double
  kRunFacts,   // of the kRun cell just before: start = run-queue delay ns,
               // end = involuntary << 32 | voluntary switches, id = minor faults,
               // parent = major faults, info24 = 1: events of the run were dropped
  kLoss,       // start = count, info24 = profile::Loss
  kExtension,  // of the cell just before: start = low 32 bits delegate_debug_id, high 32 chain
               // (both int32, -1: none), name = delegate debug name,
               // id = instruction (kNoInstruction: the cell's own info24 holds),
               // parent = bytes of metadata that follow in kBytes cells
  kBytes,      // 28 bytes of metadata in start, end, name, id, parent (in this order)
  // A parallel region: one kRegion, four kRegionFacts, two kRegionPart for each participant, as
  // one group. Its times are CLOCK_MONOTONIC ns, as ParallelRegionEvent has them.
  kRegion,       // start, end in ns; name = label; id = participants; parent = id of the operator's
                 // slice, 0: not known; info24 = instruction (kNoInstruction: none)
  kRegionFacts,  // in this order:
                 // start = region id, end = parent's region id, name = file, id = line,
                 //   parent = function, info24 = RegionFlags
                 // start = iterations, end = grain, name = requested, id = admitted,
                 //   parent = observed
                 // start = session id, end = run id, name = executor id, id = participants that
                 //   found no place, parent = name of the code
                 // start = ns of process CPU time, name = id of the calling thread
  kRegionPart,   // start, end in ns; name = thread id, id = chunks, parent = migrations; then
                 // start = iterations, end = CPU ns, name = first CPU, id = last CPU (both int32),
                 //   parent = Status of the CPU ns
  kModuleCall,   // of a PyTorch module: start, end in ticks; info24 = number of the module
                 // (ModuleFacts::tree), and kModuleRaised where it ended by an exception
  // What a framework's own profiler recorded in a run, published behind the run's other cells, in
  // this order. Times are CLOCK_MONOTONIC ns.
  kOperator,    // start, end in ns; id = thread id. What encloses it is found by time
  kAllocation,  // start = ns, end = bytes (int64, negative: freed), id = thread id;
                // info24 = 1: on a device
  kDeviceWork,  // start, end in ns by the device's clock, as the profiler converted it;
                // id = stream; parent = which kOperator of this run launched it, from 1; 0: unknown
};
constexpr uint32_t kModuleRaised = 1U << 23;
constexpr uint32_t kMostModules = kModuleRaised;  // in one process
constexpr uint32_t kInfoMask = 0x00FFFFFF;
constexpr uint32_t kNoInstruction = kInfoMask;
// info24 of the first kRegionFacts: bits 0 and 1, then a Status each.
constexpr uint32_t kRegionNestedInline = 1;
constexpr uint32_t kRegionFailed = 2;
constexpr uint32_t kRegionProcessCpuShift = 4;
constexpr uint32_t kRegionParticipantsShift = 8;
constexpr uint32_t PackInfo(CellType type, uint32_t value) {
  return static_cast<uint32_t>(type) << 24 | (value & kInfoMask);
}

constexpr CellType TypeOf(const Cell& cell) { return static_cast<CellType>(cell.info >> 24); }
constexpr uint32_t Info24(const Cell& cell) { return cell.info & kInfoMask; }

static_assert(PackInfo(CellType::kScope, 0) == kScopeInfo);
static_assert(PackInfo(CellType::kCounter, 0) == kCounterInfo);

struct alignas(64) RingHeader {
  alignas(64) std::atomic<uint64_t> head{0};  // cells published; writer only
  std::atomic<uint64_t> dropped{0};           // cells that found it full; writer only
  alignas(64) std::atomic<uint64_t> tail{0};  // cells consumed; reader only
  // Below: written when a thread takes the ring, which needs head == tail; so a reader that found
  // cells reads the owner of these cells.
  alignas(64) std::atomic<uint32_t> state{0};  // RingState
  std::atomic<uint32_t> owner{0};              // grows with each thread that takes the ring
  int64_t tid = 0;
  char thread_name[32] = {};
};
enum class RingState : uint32_t { kFree = 0, kActive = 1, kEnded = 2 };

constexpr uint64_t kMagic = 0x31474E4952505049;  // "IPPRING1", little endian
constexpr uint32_t kLayoutVersion = 1;
constexpr uint32_t kLostName = 0xFFFFFFFF;
constexpr uint32_t kMaxRings = 4096;

struct alignas(64) Header {
  std::atomic<uint64_t> magic{0};  // kMagic, stored last: the rest is complete
  uint32_t version = kLayoutVersion;
  uint32_t ring_count = 0;
  uint64_t ring_capacity = 0;  // cells, a power of two
  uint64_t names_offset = 0;
  uint64_t names_bytes = 0;
  uint64_t cells_offset = 0;
  uint64_t total_bytes = 0;
  int64_t pid = 0;
  // ticks -> CLOCK_MONOTONIC ns: ns = anchor_ns + (ticks - anchor_ticks) * ns_per_tick
  uint64_t anchor_ticks = 0;
  int64_t anchor_ns = 0;
  double ns_per_tick = 1;
  int64_t realtime_minus_monotonic_ns = 0;
  int64_t boottime_minus_monotonic_ns = 0;
  double tick_ns = 1;  // the clock's resolution, and what recording cost where it was measured
  double clock_read_ns = 0;
  double event_ns = 0;
  uint32_t tsc = 0;  // 1: ticks are TSC, 0: they are ns already
  char run_id[33] = {};
  char process_name[63] = {};
  // Name table: records of {uint32 length, bytes} packed from names_offset; ids count from 1 in
  // this order. A length of kLostName stands for a name that did not fit.
  alignas(64) std::atomic<uint64_t> names_used{0};  // bytes published
  std::atomic<uint32_t> names_count{0};
  std::atomic<uint64_t> names_lost{0};  // did not fit
  std::atomic<uint64_t> no_ring{0};     // events of threads that found no ring
};

}  // namespace inferprobe::record
