// The metadata of a slice that stands for many: what a file holds that has sums of calls, and not
// the calls. One JSON object, as the delegate kit's (delegate_note.h), with members of its own:
//
//   {"kind":"engine_reported","samples":3,"total_ns":6000000,"median_ns":1900000,"type":"Conv"}
//
// The rule that people break: the slice's own length is an average, for drawing. Figures come from
// the sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/metric.h"
#include "profile/model.h"

namespace inferprobe::profile {

struct SumNote {
  Kind kind = Kind::kEngineReported;
  uint64_t calls = 0;  // 0: none, or not known
  int64_t total_ns = 0;
  std::optional<double> median_ns;
  std::string type, exec;  // of a layer
  bool of_running_mean = false;
  std::optional<int64_t> error_ns;  // by so much a mean may be off
};

std::string WriteSumNote(const SumNote& note);
// nullopt: these bytes are no such note.
std::optional<SumNote> ParseSumNote(std::string_view metadata);
// The note of a slice of an engine's track, or of one of measures.
std::optional<SumNote> SumNoteOf(const Profile& profile, const Slice& slice);

}  // namespace inferprobe::profile
