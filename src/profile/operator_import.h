// What a framework's own profiler recorded, into the model: operators become slices among those of
// the modules, work on a device slices of the device's track, allocations find their operator.
//
//   OperatorImport operators(&profile);
//   operators.AddOperator({start_ns, end_ns, name, thread_id});
//   operators.AddAllocation({time_ns, bytes, thread_id, /*device=*/false});
//   operators.Finish(first_slice);       // finds what encloses what
//
// The rule that people break: two profilers' times never agree to the nanosecond. An operator that
// sticks out of the module that it began or ended in is cut to it, or to what is outside, wherever
// its middle is, and counted (Loss::kOperatorCut): what is inside never takes longer than what it
// is in.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "profile/model.h"

namespace inferprobe::profile {

struct OperatorEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  StringId name = 0;
  int64_t thread_id = 0;
};

struct AllocationEvent {
  int64_t time_ns = 0;
  int64_t bytes = 0;  // negative: freed
  int64_t thread_id = 0;
  bool device = false;
};

struct DeviceEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  StringId name = 0;
  uint32_t stream = 0;
  uint32_t operator_number = 0;  // of those added since the last Finish(), from 1; 0: not known
};

class OperatorImport {
 public:
  // `pid`: of the tracks that it adds for threads which have none.
  OperatorImport(Profile* profile, int64_t pid) : profile_(profile), pid_(pid) {}

  // Times are CLOCK_MONOTONIC ns. What ends before it starts, or lies outside of what a Profile
  // takes, is left out and counted (Loss::kOperatorsUnplaced).
  void AddOperator(const OperatorEvent& event);
  void AddAllocation(const AllocationEvent& event);
  void AddDeviceWork(const DeviceEvent& event);
  // Of an operator that is counted elsewhere: those behind it keep their numbers.
  void SkipOperator();

  // Something was added since the last Finish().
  [[nodiscard]] bool pending() const {
    return !operators_.empty() || !allocations_.empty() || !device_work_.empty();
  }

  // Appends what was added, and finds by time what encloses each slice of a thread from
  // `first_slice` on (modules, operators, scopes, the run), and each allocation. Module calls that
  // overlap another slice of their thread in part, which only a damaged record says, are in nothing
  // (Loss::kOverlap). O(n log n).
  void Finish(uint32_t first_slice);

 private:
  // A slice or an allocation, by the system's thread that it is of. A thread may have several
  // tracks: its number was used before.
  struct Item {
    uint32_t thread;
    uint32_t index;
  };

  [[nodiscard]] bool IsTimed(int64_t start_ns, int64_t end_ns);
  void FindThreads();
  uint32_t ThreadOf(int64_t thread_id);
  uint32_t StreamTrack(uint32_t stream);
  uint32_t AddTrack(Track track);
  void NestOperators(uint32_t first_slice);
  std::vector<Item> AddOperatorSlices();
  void NestThread(std::span<const Item> fixed, std::span<const Item> operators,
                  std::span<const Item> allocations);
  void AddDeviceSlices();
  void FindOwners(uint32_t first_slice, size_t first_allocation);

  Profile* profile_;
  int64_t pid_;
  std::vector<OperatorEvent> operators_;
  std::vector<AllocationEvent> allocations_;
  std::vector<DeviceEvent> device_work_;

  std::map<int64_t, uint32_t> thread_of_id_;
  std::vector<uint32_t> last_track_;       // of each thread
  std::vector<uint32_t> thread_of_track_;  // kNone: it is of no thread of this process
  std::map<uint32_t, uint32_t> stream_tracks_;
  std::vector<uint32_t> slice_of_operator_;  // while finishing; kNone: left out
};

}  // namespace inferprobe::profile
