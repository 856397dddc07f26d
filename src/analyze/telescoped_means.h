// Means of layers whose times were computed from a mean that the engine keeps since it compiled the
// model, in whole units. One such time may be off by as many units as there were calls; but times
// that follow each other are differences of one sum, and theirs is off by no more than one is. So
// the mean is taken over all readings from the first profiled run to the last, also of the runs in
// between that give no rows.
//
// The rule that people break: a reading is of all calls since the one before that the engine made,
// and says how many these are. The sum of the values is divided by the number of those calls, never
// by the number of values; and where a reading is not in the recording, its calls are in no value.
// Behind such a gap another series begins, with two ends of its own in the error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/row_builder.h"
#include "profile/delegate_note.h"
#include "profile/model.h"

namespace inferprobe::analyze {

class TelescopedMeans {
 public:
  // `rows` of the runs `counted`, by index in Profile::runs. Linear in slices.
  TelescopedMeans(const profile::Profile& profile, profile::DelegateNotes* notes,
                  const RowBuilder& rows, const std::vector<uint32_t>& counted);

  // What the readings of a delegate call's row say of each layer's mean.
  struct Readings {
    uint64_t calls = 0;          // of the engine, that they cover
    double error_ns = 0;         // of a layer's mean per call
    double single_error_ns = 0;  // of one value
  };
  [[nodiscard]] std::optional<Readings> ReadingsOf(uint32_t call_row) const;
  // A layer's mean for a call of its engine.
  [[nodiscard]] std::optional<double> PerCallNs(uint32_t layer_row) const;

 private:
  struct Sum {
    uint64_t covered = 0;
    double units = 0;  // how many the sum of a layer's values may be off by
    uint64_t unit_ns = 0;
    uint64_t last_calls = 0;
  };
  struct Last {
    uint32_t row = profile::kNone;
    uint64_t calls = 0;
  };
  // A process, the engine's kind and id, and, where it has no id, the instruction that calls it.
  using Engine = std::tuple<uint16_t, std::string, int32_t>;

  void AddRun(const profile::Run& run);
  void AddReading(const LayerReading& reading, const Engine& engine);
  void EndSeries(uint16_t process);
  void MapTo(const RowTable& rows);

  const profile::Profile& profile_;
  profile::DelegateNotes& notes_;
  RowBuilder all_;
  std::map<Engine, Last> last_;
  std::unordered_map<uint32_t, Sum> sums_;            // by row of a call in all_
  std::unordered_map<uint32_t, Readings> readings_;   // by row of a call
  std::unordered_map<uint32_t, double> per_call_ns_;  // by row of a layer
};

}  // namespace inferprobe::analyze
