// The table of named statistics of loss and repair: every way in which data is dropped, bent or
// repaired on its way has one row here, is counted under that name, and is shown. Nothing is fixed
// in silence.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
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
    "a run recorded more events than its ring holds: raise --ring-events (inferprobe.profile: "    \
    "capacity)")                                                                                   \
  X(kNoRing, "no_ring", kDataLoss, kInferprobe,                                                    \
    "more threads recorded than max_threads: events of the others are missing, raise it")          \
  X(kForeignThread, "foreign_thread", kDataLoss, kEngine,                                          \
    "an engine reported events of another thread than the run's: nothing to do, they are missing") \
  X(kNameTableFull, "name_table_full", kDataLoss, kInferprobe,                                     \
    "too many names, later ones are \"(name lost)\": use fewer, or raise name_bytes")              \
  X(kInvalidUtf8, "invalid_utf8", kRepair, kEngine,                                                \
    "a name was not UTF-8, bad bytes are shown as \\xNN: nothing to do, no figure changes")        \
  X(kUnbalancedEnd, "unbalanced_end", kDataLoss, kEngine,                                          \
    "an event ended that was not begun, or the reverse, it is left out: pair begins and ends")     \
  X(kEndBeforeStart, "end_before_start", kDataLoss, kEngine,                                       \
    "an event ended before it started, it is in no total: check the clock that recorded it")       \
  X(kZeroTimes, "zero_times", kDataLoss, kEngine,                                                  \
    "an event has neither start nor end: nothing to do, it is left out of every total")            \
  X(kTimeOutOfRange, "time_out_of_range", kDataLoss, kInput,                                       \
    "a time is below 0 or too large, its event is left out: check the unit and the clock given")   \
  X(kOverlapMoved, "overlap_moved", kRepair, kEngine,                                              \
    "slices overlapped without nesting, one is on a track beside: nothing to do, all are kept")    \
  X(kEngineOpsOutsideCall, "engine_ops_outside_call", kRepair, kEngine,                            \
    "operators were reported outside any delegate call: nothing to do, no delegate has them")      \
  X(kEngineOpsCoverage, "engine_ops_coverage", kInfo, kEngine,                                     \
    "an engine's times cover < 90 % or > 105 % of its call: compare them with each other only")    \
  X(kChildrenExceedParent, "children_exceed_parent", kRepair, kEngine,                             \
    "parts of a slice took longer than it: nothing to do, its own time is shown negative")         \
  X(kMetadataCut, "metadata_cut", kDataLoss, kInferprobe,                                          \
    "a delegate's metadata was too long to record, it was cut: nothing to do, times are whole")    \
  X(kDamagedRecord, "damaged_record", kDataLoss, kMachine,                                         \
    "the recorder's memory held what no recorder writes, those events are missing: record again")  \
  X(kWorkerDied, "worker_died", kDataLoss, kEngine,                                                \
    "a worker process died, only what it had published is here: mend what crashed, run again")     \
  X(kTruncatedFile, "truncated_file", kDataLoss, kInput,                                           \
    "the file ends too early, what came after is missing: copy it anew, or record again")          \
  X(kDamagedPacket, "damaged_packet", kDataLoss, kInput,                                           \
    "a packet of the trace is no packet, it was skipped: copy the file anew, or record again")     \
  X(kLostState, "lost_state", kDataLoss, kInput,                                                   \
    "events refer to names or clocks that are not there, left out: enlarge the trace's buffers")   \
  X(kUnknownClock, "unknown_clock", kDataLoss, kInput,                                             \
    "an event's clock is unknown, it is left out: record clock snapshots (builtin_data_sources)")  \
  X(kUnfinishedSlice, "unfinished_slice", kDataLoss, kInput,                                       \
    "a slice was begun and never ended, it is in no total: stop recording after its end")          \
  X(kOtherPackets, "other_packets", kInfo, kInput,                                                 \
    "packets that are no track events: nothing to do, they are counted by type, not read")         \
  X(kNoEvents, "no_events", kDataLoss, kEngine,                                                    \
    "the file holds no event: was the runtime built with ET_EVENT_TRACER_ENABLED?")                \
  X(kEmptyBlock, "empty_block", kInfo, kEngine,                                                    \
    "a run block holds no event: nothing to do, it is listed, and counted in no mean")             \
  X(kPartsOfEvent, "parts_of_event", kDataLoss, kEngine,                                           \
    "an event is not one of profile, allocation and debug, it is left out: record again")          \
  X(kOtherEvents, "other_events", kInfo, kEngine,                                                  \
    "allocation and debug events: nothing to do, they are counted, not shown")                     \
  X(kDelegateClock, "delegate_clock", kInfo, kEngine,                                              \
    "a delegate counts on a clock of its own: give its tick with --delegate-clock NAME=NS")        \
  X(kUnknownField, "unknown_field", kInfo, kInput,                                                 \
    "fields that this version does not know are left out: read it with a newer inferprobe")        \
  X(kTooLarge, "too_large", kDataLoss, kInput,                                                     \
    "more than 65,535 tracks or 4 billion slices: the rest is left out, record less in one file")  \
  X(kNotInFormat, "not_in_format", kInfo, kInferprobe,                                             \
    "slices and counters that the written format cannot hold: keep the source beside it")          \
  X(kIncompleteRun, "incomplete_run", kDataLoss, kEngine,                                          \
    "a run lost events: it is in no row (if none is whole, no row has a mean), record again")      \
  X(kOverlap, "overlap", kRepair, kInput,                                                          \
    "slices of a track overlap without nesting, none is in another: record them on more tracks")   \
  X(kUnreadBytes, "unread_bytes", kDataLoss, kInput,                                               \
    "bytes that are no packet, they or all behind them were skipped: copy or record anew")         \
  X(kSecondTrace, "second_trace", kDataLoss, kInput,                                               \
    "a second trace of inferprobe follows in the same file: only the first is read, split them")   \
  X(kNameCut, "name_cut", kRepair, kInput,                                                         \
    "a name of over 1,024 bytes was cut, a length and hash mark it: nothing to do, rows are "      \
    "whole")                                                                                       \
  X(kJsonRepaired, "json_repaired", kRepair, kEngine,                                              \
    "what is no strict JSON (a comma too many, an odd character) was read as meant: nothing to "   \
    "do")                                                                                          \
  X(kNotANumber, "not_a_number", kDataLoss, kEngine,                                               \
    "a figure of the file is nan or inf, it is missing: run the engine before writing its "        \
    "profile")                                                                                     \
  X(kNoSamples, "no_samples", kDataLoss, kEngine,                                                  \
    "a layer has no call, or nobody tells how many: it has no average, run the engine first")      \
  X(kOpaqueLayer, "opaque_layer", kInfo, kEngine,                                                  \
    "a layer stands for nodes that it does not name (ForeignNode): nothing to do, its time is "    \
    "whole")                                                                                       \
  X(kUnreadMetadata, "unread_metadata", kDataLoss, kInput,                                         \
    "the .metadata.json beside a profile is damaged, foreign or of a later version, it is left "   \
    "out: copy it anew")                                                                           \
  X(kRegionsDropped, "regions_dropped", kDataLoss, kInferprobe,                                    \
    "parallel regions found no place in their collector, they are in no figure: give it more "     \
    "capacity")                                                                                    \
  X(kOperatorCut, "operator_cut", kRepair, kInput,                                                 \
    "operators that their profiler saw stick out of the module that they ran in, by the doubt of " \
    "two clocks, are cut to it: nothing to do")                                                    \
  X(kModuleCallsOutside, "module_calls_outside", kInfo, kInput,                                    \
    "forward was called of modules that are not watched (not chosen, replicas, another model of "  \
    "the same class): nothing to do, or profile these, too")                                       \
  X(kOperatorsUnplaced, "operators_unplaced", kDataLoss, kInput,                                   \
    "operators whose times no clock of this machine explains are left out: measure again")

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
std::optional<Loss> LossNamed(std::string_view name);

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
  // Of this process's recorder: what was not recorded may have happened.
  [[nodiscard]] bool AnyEventDropped() const {
    return Get(Loss::kRingDropped) != 0 || Get(Loss::kNoRing) != 0;
  }
  void Merge(const LossCounts& other);

 private:
  std::array<uint64_t, static_cast<size_t>(Loss::kCount)> counts_{};
};

}  // namespace inferprobe::profile
