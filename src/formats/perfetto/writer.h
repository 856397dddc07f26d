// Writes a profile as a Perfetto trace, piece by piece, while it is still being recorded.
//
//   auto writer = perfetto::Writer::Create(std::move(file), &profile);
//   ... the profile gets more slices and counters ...
//   writer->Append(first_slice, slice_count, first_counter, counter_count);
//   writer->Finish({{"runs", "100"}});
//
// After each Append the partial file is a valid trace of everything that was appended: the process
// may die at any moment. Docs: docs/formats/perfetto.md.
//
// The rule that people break: a track, once a slice of it was appended, keeps its name; give
// Profile::tracks their names before the first Append that needs them.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "formats/perfetto/interner.h"
#include "formats/perfetto/lanes.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/run_plan.h"
#include "inferprobe/result.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

class Writer {
 public:
  // `profile` must outlive the writer and stay where it is.
  static Result<Writer> Create(base::AtomicFile file, const profile::Profile* profile);

  // Encodes these slices and counter samples of the profile, and the next allocations, as far as
  // they are in slices up to these, and flushes. After an error every later call returns it again.
  Result<void> Append(uint32_t first_slice, uint32_t slice_count, uint32_t first_counter,
                      uint32_t counter_count);
  // Writes `notes` as the arguments of an instant event on the track "inferprobe", and gives the
  // file its final name. A writer that is destroyed unfinished removes the partial file.
  Result<void> Finish(const Notes& notes);
  // Leaves the partial file, as of the last Append.
  void Abandon();

  // What was repaired or left out on the way into this file.
  [[nodiscard]] const profile::LossCounts& losses() const { return losses_; }
  [[nodiscard]] uint64_t bytes_written() const { return file_.bytes_written(); }

 private:
  Writer(base::AtomicFile file, const profile::Profile* profile);

  struct Event;
  enum class EventType : uint8_t { kBegin, kEnd, kTicks, kCounter, kRunMark, kAllocation };
  // What a slice must say of itself.
  enum Flag : uint8_t { kTellRun = 1, kTellNoParent = 2, kTellParent = 4 };

  void WriteUuid();
  void DescribeNewLanes();
  uint64_t DescribeProcess(int64_t pid);
  uint64_t DescribeCounter(uint16_t track);
  uint64_t DescribeTicks(uint16_t track);
  uint64_t DescribeAllocations(bool device);
  uint64_t DescribeNamedTrack(uint64_t parent, const std::string& name, const std::string* unit,
                              std::string_view description);
  [[nodiscard]] uint64_t ProcessOf(const profile::Track& track);
  void CountBegins(const std::vector<Event>& events, uint32_t first_slice, uint32_t slice_count);
  void WriteParent(protozero::pbf_builder<TrackEvent>& out, uint32_t slice);
  void AddRunMarks(uint64_t end, std::vector<Event>& events);
  void AddAllocations(uint64_t end, std::vector<Event>& events);
  void WriteAllocation(std::string& body, uint32_t index);
  std::vector<Event> Collect(const std::vector<SliceEdge>& edges, uint32_t first_slice,
                             uint32_t slice_count, uint32_t first_counter, uint32_t counter_count);
  [[nodiscard]] bool IsEpochOver(int64_t time_ns) const;
  void BeginEpoch(int64_t time_ns);
  void WriteEvent(const Event& event);
  void WriteArgs(std::string& body, uint32_t slice_index, uint8_t flags);
  void WriteRunArgs(std::string& body, uint32_t run);
  void WriteEngineArgs(std::string& body, const profile::Slice& slice);
  [[nodiscard]] uint8_t FlagsOf(uint32_t slice, uint32_t inside, uint32_t lane_ordinal) const;
  [[nodiscard]] const profile::Slice* CallOf(const profile::Slice& slice) const;
  [[nodiscard]] bool IsAtItsCall(const profile::Slice& slice) const;
  [[nodiscard]] bool IsLastBegun(const profile::Slice& call) const;
  void WriteNotes(const Notes& notes);
  // Hands whole packets to the file.
  Result<void> Drain(bool flush);

  base::AtomicFile file_;
  const profile::Profile* profile_;
  RunPlan runs_;
  LanePlanner planner_;
  Interner interner_;
  profile::LossCounts losses_;

  std::string out_;                                   // encoded, not yet in the file
  std::vector<uint64_t> lane_uuids_;                  // by lane
  std::unordered_map<uint16_t, uint64_t> counters_;   // uuid by track
  std::unordered_map<uint16_t, uint64_t> ticks_;      // the same, of tracks in ticks
  std::unordered_map<int64_t, uint64_t> processes_;   // uuid by pid
  std::vector<std::pair<int64_t, int64_t>> threads_;  // described: pid, tid
  uint64_t run_marks_uuid_ = 0;                       // the track of runs; 0: there is none yet
  struct Memory {
    uint64_t uuid = 0;      // of its track; 0: there is none yet
    int64_t allocated = 0;  // bytes so far
  };
  Memory memory_[2];  // of the host, of the device

  std::vector<uint32_t> begun_;  // of the slices of this batch: how many began before, in the file
  uint32_t first_slice_ = 0;     // of this batch
  // The same of its allocations: how many slices began before.
  std::vector<uint32_t> begun_before_;
  uint32_t first_allocation_ = 0;

  uint64_t last_uuid_ = 0;
  uint64_t default_uuid_ = 0;  // the track of events that name none, in this epoch
  uint64_t busiest_uuid_ = 0;  // of the batch being written
  bool started_ = false;       // the file's head is written
  bool epoch_open_ = false;
  int64_t epoch_start_ns_ = 0;
  uint64_t epoch_event_bytes_ = 0;  // of events, without the texts that they refer to
  int64_t clock_ns_ = 0;            // where the incremental clock stands
  std::map<std::pair<uint16_t, int32_t>, uint32_t> last_calls_;  // by track and instruction
};

}  // namespace inferprobe::perfetto
