// One TrackEvent message taken apart: nothing is looked up yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/perfetto/fields.h"

namespace inferprobe::perfetto {

// Perfetto's letter for it, as in Chrome's JSON.
enum class Phase : uint8_t { kNone, kBegin, kEnd, kComplete, kInstant, kCounter, kOther };

struct RawAnnotation {
  uint64_t name_iid = 0;
  std::string_view name;
  std::optional<int64_t> number;
  std::string_view text;
  uint64_t text_iid = 0;
};

struct RawEvent {
  uint64_t type = 0;
  std::optional<uint64_t> track_uuid;
  uint64_t name_iid = 0;
  std::string_view name;
  uint64_t category_iid = 0;
  std::optional<double> counter;
  bool extra_counters = false;
  std::optional<int64_t> delta_us;
  std::optional<int64_t> absolute_us;
  std::vector<std::string_view> annotations;

  Phase legacy = Phase::kNone;
  char legacy_phase = 0;
  int64_t duration_us = 0;
  std::optional<int32_t> pid;
  std::optional<int32_t> tid;
};

// False if it is none. `event` keeps the memory that it has.
bool ParseEvent(std::string_view message, RawEvent& event);
bool ParseAnnotation(std::string_view message, RawAnnotation& annotation);

}  // namespace inferprobe::perfetto
