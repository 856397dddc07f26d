// Why a figure is missing: the project's one list of reasons. A figure that was not measured is
// never zero, NaN or empty.
#pragma once

#include <cstdint>

#include "inferprobe/api.h"

namespace inferprobe {

enum class Status : uint8_t {
  kValid,  // it is not missing
  kNotRequested,
  kUnsupported,
  kNotBuiltIn,
  kPermissionDenied,
  kMultiplexed,
  kNeverScheduled,
  kBelowResolution,
  kOverflow,
  kInvalidGroup,
  kUnavailable,
  kTooFewSamples,
  kNoMap,
  kNotMeasured,
};
INFERPROBE_API const char* StatusName(Status status);  // "permission_denied"
INFERPROBE_API const char* StatusText(Status status);  // "permission denied"

}  // namespace inferprobe
