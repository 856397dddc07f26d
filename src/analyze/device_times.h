// What a device took for the calls of delegates: its result comes when something waits for it, in
// that call, in a later one, or at the end.
//
// The rule that people break: a result is of the call whose number it carries, wherever it stands
// in the recording. A call that never got one is counted as missing, not as 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/row_builder.h"
#include "profile/delegate_note.h"
#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

class DeviceTimes {
 public:
  // Linear in the profile's slices. `rows` of the runs that rows come from.
  DeviceTimes(const profile::Profile& profile, profile::DelegateNotes* notes,
              const RowBuilder& rows);

  // By row of a delegate call. nullopt: its calls have no device durations.
  [[nodiscard]] std::optional<profile::DeviceTime> Of(uint32_t call_row, uint64_t runs) const;

 private:
  struct Sum {
    int64_t total_ns = 0;
    uint64_t calls = 0;    // with a result
    uint64_t missing = 0;  // without
    std::string clock;
    std::string missing_why;
  };
  std::unordered_map<uint32_t, Sum> sums_;
};

}  // namespace inferprobe::analyze
