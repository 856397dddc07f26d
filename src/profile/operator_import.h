// What a framework's own profiler recorded, into the model: operators become slices among those of
// the modules, work on a device slices of the device's track, allocations find their operator.
//
//   OperatorImport operators(&profile);
//   operators.AddOperator({start_ns, end_ns, name, thread_id});
//   operators.AddAllocation({time_ns, bytes, thread_id, /*device=*/false});
//   operators.Finish(first_slice);       // finds what encloses what
//
// The rule that people break: two profilers' times never agree to the nanosecond. An operator that
// sticks out of the module that it began or ended in is cut to it, and counted
// (Loss::kOperatorCut): what is inside never takes longer than what it is in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
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

  void AddOperator(const OperatorEvent& event);
  void AddAllocation(const AllocationEvent& event);
  void AddDeviceWork(const DeviceEvent& event);

  // Appends what was added, and finds by time what encloses each kModuleCall, kOperator and
  // allocation from `first_slice` on. Slices of other categories keep their parents, and what has
  // one of these as parent may get an operator or a module between. O(n log n).
  void Finish(uint32_t first_slice);

 private:
  Profile* profile_;
  int64_t pid_;
  std::vector<OperatorEvent> operators_;
  std::vector<AllocationEvent> allocations_;
  std::vector<DeviceEvent> device_work_;
};

}  // namespace inferprobe::profile
