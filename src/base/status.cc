#include "inferprobe/status.h"

namespace inferprobe {
namespace {
struct StatusWords {
  const char* name;
  const char* text;
};
StatusWords WordsOf(Status status) {
  switch (status) {
    case Status::kValid:
      return {"valid", "valid"};
    case Status::kNotRequested:
      return {"not_requested", "not requested"};
    case Status::kUnsupported:
      return {"unsupported", "unsupported"};
    case Status::kNotBuiltIn:
      return {"not_built_in", "not built in"};
    case Status::kPermissionDenied:
      return {"permission_denied", "permission denied"};
    case Status::kMultiplexed:
      return {"multiplexed", "multiplexed"};
    case Status::kNeverScheduled:
      return {"never_scheduled", "never scheduled"};
    case Status::kBelowResolution:
      return {"below_resolution", "below resolution"};
    case Status::kOverflow:
      return {"overflow", "overflow"};
    case Status::kInvalidGroup:
      return {"invalid_group", "invalid group"};
    case Status::kUnavailable:
      return {"unavailable", "unavailable"};
    case Status::kTooFewSamples:
      return {"too_few_samples", "too few samples"};
    case Status::kNoMap:
      return {"no_map", "no map"};
    case Status::kNotMeasured:
      return {"not_measured", "not measured"};
  }
  return {"unavailable", "unavailable"};
}

}  // namespace

const char* StatusName(Status status) { return WordsOf(status).name; }
const char* StatusText(Status status) { return WordsOf(status).text; }

}  // namespace inferprobe
