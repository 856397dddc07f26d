// The table of named statistics of loss and repair: every way in which data is dropped, bent or
// repaired on its way has one row here, is counted under that name, and is shown. Nothing is fixed
// in silence.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace inferprobe::profile {

enum class Severity : uint8_t { kInfo, kRepair, kDataLoss };
const char* SeverityName(Severity severity);  // "data_loss"

enum class Blame : uint8_t { kInferprobe, kEngine, kInput, kMachine };
const char* BlameName(Blame blame);

// One line a statistic: enumerator, name, severity, who is to blame, what to do. New ones go to the
// end: recordings name a statistic by its place.
#define INFERPROBE_LOSS_TABLE(X)                                                                   \
  X(kRingDropped, "ring_dropped", kDataLoss, kInferprobe,                                          \
    "a run recorded more events than its ring holds: raise --ring-events")                         \
  X(kNoRing, "no_ring", kDataLoss, kInferprobe,                                                    \
    "more threads recorded than there are rings: events of the surplus threads are missing")       \
  X(kForeignThread, "foreign_thread", kDataLoss, kEngine,                                          \
    "an engine reported events of a run from another thread than the run's: they are missing")     \
  X(kNameTableFull, "name_table_full", kDataLoss, kInferprobe,                                     \
    "too many distinct names: later ones are shown as \"(name lost)\"")                            \
  X(kInvalidUtf8, "invalid_utf8", kRepair, kEngine,                                                \
    "a name was not UTF-8: its bad bytes are shown as \\xNN")                                      \
  X(kUnbalancedEnd, "unbalanced_end", kDataLoss, kEngine,                                          \
    "an event ended that was not begun, or the reverse: it is left out")                           \
  X(kEndBeforeStart, "end_before_start", kDataLoss, kEngine,                                       \
    "an event ended before it started: it is left out of every total")                             \
  X(kZeroTimes, "zero_times", kDataLoss, kEngine,                                                  \
    "an event has neither start nor end: it is left out of every total")                           \
  X(kTimeOutOfRange, "time_out_of_range", kDataLoss, kInput,                                       \
    "a time is before its clock's zero or beyond 63 bits: the event is not in the trace")          \
  X(kOverlapMoved, "overlap_moved", kRepair, kEngine,                                              \
    "slices of one track overlapped without nesting: the later one is on a track beside it")       \
  X(kEngineOpsOutsideCall, "engine_ops_outside_call", kRepair, kEngine,                            \
    "an engine reported operators outside any delegate call")                                      \
  X(kEngineOpsCoverage, "engine_ops_coverage", kInfo, kEngine,                                     \
    "an engine's own times cover less than 90 % or more than 105 % of the host call")              \
  X(kChildrenExceedParent, "children_exceed_parent", kRepair, kEngine,                             \
    "parts of a slice took longer than the slice: shown as recorded, its own time is negative")    \
  X(kMetadataCut, "metadata_cut", kDataLoss, kInferprobe,                                          \
    "a delegate's metadata was larger than can be recorded: it was cut")                           \
  X(kDamagedRecord, "damaged_record", kDataLoss, kMachine,                                         \
    "the recorder's memory held what no recorder writes: those events are left out")               \
  X(kWorkerDied, "worker_died", kDataLoss, kEngine,                                                \
    "a worker process died: only what it had published is here")                                   \
  X(kTruncatedFile, "truncated_file", kDataLoss, kInput,                                           \
    "the file ends in the middle of a record: what came after it is missing")                      \
  X(kDamagedPacket, "damaged_packet", kDataLoss, kInput,                                           \
    "a packet of the trace is no packet: it was skipped")                                          \
  X(kLostState, "lost_state", kDataLoss, kInput,                                                   \
    "events refer to names or clocks of a part of the trace that is not there: left out")          \
  X(kUnknownClock, "unknown_clock", kDataLoss, kInput,                                             \
    "the trace does not relate an event's clock to its main one: the event is left out")           \
  X(kUnfinishedSlice, "unfinished_slice", kDataLoss, kInput,                                       \
    "a slice was begun and never ended: it is left out of every total")                            \
  X(kOtherPackets, "other_packets", kInfo, kInput,                                                 \
    "packets that are no track events: counted by type, not read")                                 \
  X(kNoEvents, "no_events", kDataLoss, kEngine,                                                    \
    "the file holds no event: was the runtime built with ET_EVENT_TRACER_ENABLED?")                \
  X(kEmptyBlock, "empty_block", kInfo, kEngine,                                                    \
    "a run block holds no event: it is listed, and counted in no mean")                            \
  X(kPartsOfEvent, "parts_of_event", kDataLoss, kEngine,                                           \
    "an event has none or several of its parts (profile, allocation, debug): it is left out")      \
  X(kOtherEvents, "other_events", kInfo, kEngine,                                                  \
    "allocation and debug events: counted, not shown")                                             \
  X(kDelegateClock, "delegate_clock", kInfo, kEngine,                                              \
    "a delegate counts on a clock of its own: give its tick with --delegate-clock NAME=NS")        \
  X(kUnknownField, "unknown_field", kInfo, kInput,                                                 \
    "the result has fields that this version does not know: they are left out")                    \
  X(kTooLarge, "too_large", kDataLoss, kInput,                                                     \
    "the trace has more tracks (65,535) or slices (4 billion) than can be held: the rest is left " \
    "out")                                                                                         \
  X(kNotInFormat, "not_in_format", kInfo, kInferprobe,                                             \
    "slices and counters that the written format has no place for: it is without them")            \
  X(kIncompleteRun, "incomplete_run", kDataLoss, kEngine,                                          \
    "events of a run were dropped: it is in no row; where no run is whole, rows have no mean")     \
  X(kOverlap, "overlap", kRepair, kInput,                                                          \
    "slices of one track overlap without nesting: they stand beside each other, in neither")       \
  X(kUnreadBytes, "unread_bytes", kDataLoss, kInput,                                               \
    "bytes of the file that are no packet: they were skipped, or all behind them was not read")    \
  X(kSecondTrace, "second_trace", kDataLoss, kInput,                                               \
    "a second trace of inferprobe follows in the same file: only the first is read, split them")   \
  X(kNameCut, "name_cut", kRepair, kInput,                                                         \
    "a name had more than 1,024 bytes: its end is left out, its length and a hash mark it")

enum class Loss : uint8_t {
#define INFERPROBE_LOSS_ENUM(id, name, severity, blame, advice) id,
  INFERPROBE_LOSS_TABLE(INFERPROBE_LOSS_ENUM)
#undef INFERPROBE_LOSS_ENUM
      kCount
};

struct LossInfo {
  std::string_view name;
  Severity severity;
  Blame blame;
  std::string_view advice;
};
const LossInfo& InfoOf(Loss loss);

// Counts by statistic.
class LossCounts {
 public:
  // Files claim counts of their own: a sum that would be beyond kMost stays there.
  static constexpr uint64_t kMost = uint64_t{std::numeric_limits<int64_t>::max()};
  void Add(Loss loss, uint64_t n = 1) {
    uint64_t& count = counts_[static_cast<size_t>(loss)];
    count = n > kMost - count ? kMost : count + n;
  }
  [[nodiscard]] uint64_t Get(Loss loss) const { return counts_[static_cast<size_t>(loss)]; }
  [[nodiscard]] bool AnyDataLoss() const;
  void Merge(const LossCounts& other);

 private:
  std::array<uint64_t, static_cast<size_t>(Loss::kCount)> counts_{};
};

}  // namespace inferprobe::profile
