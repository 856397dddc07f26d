// From the recorder's rings into the model: cells become slices, runs, counters and counted losses.
//
//   profile::Profile profile;
//   profile::RingImporter importer(&profile, /*process=*/0);
//   importer.Attach(*std::move(block_reader));
//   const DrainedRange fresh = importer.Drain();     // between runs; what it appended
//
// The rule that people break: a slice is published when it ends, so children come before their
// parents, and a parent may come in a later drain. Until then a slice's parent is kNone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/delegate_note.h"
#include "profile/model.h"
#include "profile/operator_import.h"
#include "profile/recording.h"
#include "profile/region_import.h"
#include "record/block_reader.h"

namespace inferprobe::profile {

// What a drain appended to Profile::slices, runs and counters.
struct DrainedRange {
  uint32_t first_slice = 0;
  uint32_t slice_count = 0;
  uint32_t first_run = 0;
  uint32_t run_count = 0;
  uint32_t first_counter = 0;
  uint32_t counter_count = 0;
};

class RingImporter {
 public:
  // Name of the track of what a delegate reported in the call at `instruction` (-1: unknown).
  using EngineTrackName = std::function<std::string(int32_t instruction)>;

  RingImporter(Profile* profile, uint16_t process, EngineTrackName engine_track_name = {});

  // Takes the block that Drain() reads; fills the profile's clock, and its run id and process name
  // where it has none yet.
  void Attach(record::BlockReader reader);
  DrainedRange Drain();

  // Precondition: attached.
  [[nodiscard]] const record::BlockFacts& facts() const { return reader_->facts(); }

 private:
  // A slice whose parent has not ended yet.
  struct Waiting {
    uint32_t slice;
    uint32_t parent_id;
  };
  struct Ring {
    uint32_t owner = 0;
    uint32_t track = kNone;
    std::vector<Waiting> waiting;  // the innermost last
    // By instruction, and by what a delegate's note says its time is.
    std::map<std::tuple<int32_t, Kind, std::string>, uint32_t> engine_tracks;
    std::vector<uint32_t> loads;                 // of delegates, in no run so far
    std::map<int64_t, uint32_t> regions_tracks;  // by calling thread
    // What ended since the last run or batch of regions, where a region finds its operator: by id
    // once `ended_sorted`.
    std::vector<std::pair<uint32_t, uint32_t>> ended;  // id, index of the slice
    bool ended_sorted = false;
    uint32_t last_run = kNone;
    uint64_t dropped = 0;
    bool damaged = false;
  };

  // Ids wrap after four billion.
  static bool OpenedNotBefore(uint32_t id, uint32_t other) {
    return static_cast<int32_t>(id - other) >= 0;
  }

  void DrainRing(uint32_t index);
  // Reads the cell at `at` with what belongs to it; returns how many cells that were.
  uint64_t ReadGroup(Ring& ring, const record::BlockReader::Cells& cells, uint64_t at);
  void AddTicksSlice(Ring& ring, const record::Cell& cell, Category category, uint32_t args);
  uint32_t EngineTrack(Ring& ring, int32_t instruction, const DelegateNote* note);
  void AddEngineSlice(Ring& ring, const record::Cell& cell, int32_t instruction, uint32_t args);
  void AddSlice(Ring& ring, const record::Cell& cell, const Slice& slice);
  void AddRun(Ring& ring, const record::Cell& cell, const Slice& slice);
  void EndRun(size_t first_slice);
  uint64_t ReadRegion(Ring& ring, const record::BlockReader::Cells& cells, uint64_t at);
  void AddRegion(Ring& ring);
  uint32_t RegionsTrack(Ring& ring, int64_t thread_id);
  uint32_t ParticipantTrack(int64_t thread_id);
  // Of the slice with this id in the ring, which has ended; kNone: it has not.
  static uint32_t EndedSlice(Ring& ring, uint32_t id);
  void AddRunFacts(Ring& ring, const record::Cell& cell);
  // What a framework's profiler recorded: it waits for the run that it is of.
  void AddOperator(const record::Cell& cell);
  void AddAllocation(const record::Cell& cell);
  void AddDeviceWork(const record::Cell& cell);
  void AddCounter(const record::Cell& cell);
  // The slice's times, or nullopt and a count.
  std::optional<Slice> Timed(const record::Cell& cell, std::optional<int64_t> start,
                             std::optional<int64_t> end);
  // The same of a cell whose times are CLOCK_MONOTONIC ns already.
  std::optional<Slice> TimedInNs(const record::Cell& cell);
  uint32_t AddTrack(Track track);
  StringId Name(uint32_t id);

  Profile* profile_;
  DelegateNotes notes_;
  uint16_t process_;
  EngineTrackName engine_track_name_;
  std::optional<record::BlockReader> reader_;
  std::vector<Ring> rings_;
  std::vector<StringId> names_;  // by id in the block; kNone: not looked up yet
  std::map<StringId, uint32_t> counter_tracks_;
  std::map<int64_t, uint32_t> participant_tracks_;         // by thread
  std::optional<OperatorImport> operators_;                // once attached
  RegionCells region_;                                     // that is being read
  std::map<std::string, uint32_t, std::less<>> metadata_;  // the same in every run: kept once
  std::vector<uint32_t> reports_;                          // of the slice that is being added
  // From here on, all of Profile::slices are of ring `stretch_ring_` and of no run yet.
  uint32_t stretch_ring_ = kNone;
  size_t stretch_begin_ = 0;
  size_t stretch_end_ = 0;
  uint64_t no_ring_ = 0;
  uint64_t names_lost_ = 0;
};

// The file of a recorder whose process is gone, or still writes.
Result<Recording> ReadMappedFile(const std::string& path);
// The same of bytes in memory, at the start of a page; `name` stands in errors.
Result<Recording> ReadMappedBytes(std::string_view bytes, const std::string& name);

}  // namespace inferprobe::profile
