#include "formats/perfetto/event.h"

#include <utility>

#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {
namespace {

Phase PhaseOf(char letter) {
  switch (letter) {
    case 'B':
      return Phase::kBegin;
    case 'E':
      return Phase::kEnd;
    case 'X':
      return Phase::kComplete;
    case 'I':
    case 'i':
      return Phase::kInstant;
    case 'C':
      return Phase::kCounter;
    default:
      return Phase::kOther;
  }
}

bool ParseLegacy(std::string_view message, RawEvent& event) {
  Fields legacy(message);
  while (legacy.Next()) {
    switch (legacy.key()) {
      case VarintKey(LegacyEvent::kNameIid):
        if (event.name_iid == 0) event.name_iid = legacy.value();
        break;
      case VarintKey(LegacyEvent::kPhase):
        event.legacy_phase = static_cast<char>(legacy.value());
        event.legacy = PhaseOf(event.legacy_phase);
        break;
      case VarintKey(LegacyEvent::kDurationUs):
        event.duration_us = legacy.signed_value();
        break;
      case VarintKey(LegacyEvent::kPidOverride):
        event.pid = static_cast<int32_t>(legacy.signed_value());
        break;
      case VarintKey(LegacyEvent::kTidOverride):
        event.tid = static_cast<int32_t>(legacy.signed_value());
        break;
      default:
        break;
    }
  }
  return !legacy.damaged();
}

}  // namespace

bool ParseEvent(std::string_view message, RawEvent& event) {
  std::vector<std::string_view> annotations = std::move(event.annotations);
  annotations.clear();
  event = {};
  event.annotations = std::move(annotations);
  std::string_view packed_categories;
  Fields fields(message);
  while (fields.Next()) {
    switch (fields.key()) {
      case VarintKey(TrackEvent::kType):
        event.type = fields.value();
        break;
      case VarintKey(TrackEvent::kTrackUuid):
        event.track_uuid = fields.value();
        break;
      case VarintKey(TrackEvent::kNameIid):
        event.name_iid = fields.value();
        break;
      case BytesKey(TrackEvent::kName):
        event.name = fields.bytes();
        break;
      case VarintKey(TrackEvent::kCategoryIids):
        event.category_iid = fields.value();
        break;
      case BytesKey(TrackEvent::kCategoryIids):
        packed_categories = fields.bytes();
        TakeVarint(packed_categories, event.category_iid);
        break;
      case BytesKey(TrackEvent::kDebugAnnotations):
        event.annotations.push_back(fields.bytes());
        break;
      case BytesKey(TrackEvent::kLegacyEvent):
        if (!ParseLegacy(fields.bytes(), event)) return false;
        break;
      case VarintKey(TrackEvent::kCounterValue):
        event.counter = static_cast<double>(fields.signed_value());
        break;
      case Fixed64Key(TrackEvent::kDoubleCounterValue):
        event.counter = fields.double_value();
        break;
      case VarintKey(TrackEvent::kExtraCounterValues):
      case BytesKey(TrackEvent::kExtraCounterValues):
      case Fixed64Key(TrackEvent::kExtraDoubleCounterValues):
      case BytesKey(TrackEvent::kExtraDoubleCounterValues):
        event.extra_counters = true;
        break;
      case VarintKey(TrackEvent::kTimestampDeltaUs):
        event.delta_us = fields.signed_value();
        break;
      case VarintKey(TrackEvent::kTimestampAbsoluteUs):
        event.absolute_us = fields.signed_value();
        break;
      default:
        break;
    }
  }
  return !fields.damaged();
}

bool ParseAnnotation(std::string_view message, RawAnnotation& annotation) {
  annotation = {};
  Fields fields(message);
  while (fields.Next()) {
    switch (fields.key()) {
      case VarintKey(DebugAnnotation::kNameIid):
        annotation.name_iid = fields.value();
        break;
      case BytesKey(DebugAnnotation::kName):
        annotation.name = fields.bytes();
        break;
      case VarintKey(DebugAnnotation::kIntValue):
        annotation.number = fields.signed_value();
        break;
      case BytesKey(DebugAnnotation::kStringValue):
        annotation.text = fields.bytes();
        break;
      case VarintKey(DebugAnnotation::kStringValueIid):
        annotation.text_iid = fields.value();
        break;
      default:
        break;
    }
  }
  return !fields.damaged();
}

}  // namespace inferprobe::perfetto
