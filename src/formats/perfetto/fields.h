// Field numbers of Perfetto's trace format (protos/perfetto/trace/**.proto), for the messages that
// we write and read. One enum a message, so that protozero's builders refuse a field of another
// message.
//
// The rule that people break: a number here is part of a public format. tests/e2e/test_perfetto.py
// checks every one against Perfetto's own descriptors: no unknown field may be left in a file.
#pragma once

#include <protozero/types.hpp>

namespace inferprobe::perfetto {

using Tag = protozero::pbf_tag_type;

enum class Trace : Tag { kPacket = 1 };

enum class TracePacket : Tag {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kTrustedPacketSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kIncrementalStateCleared = 41,
  kPreviousPacketDropped = 42,
  kThreadDescriptor = 44,
  kCompressedPackets = 50,
  kTimestampClockId = 58,
  kTracePacketDefaults = 59,
  kTrackDescriptor = 60,
  kFirstPacketOnSequence = 87,
  kTraceUuid = 89,
};

enum SequenceFlags : uint32_t {
  kIncrementalStateCleared = 1,
  kNeedsIncrementalState = 2,
};

enum class ClockSnapshot : Tag { kClocks = 1, kPrimaryTraceClock = 2 };
enum class Clock : Tag { kClockId = 1, kTimestamp = 2, kIsIncremental = 3, kUnitMultiplierNs = 4 };

// Ids below 64 are Perfetto's own; 64 to 127 belong to the sequence that defines them.
enum ClockId : uint32_t {
  kRealtime = 1,
  kMonotonic = 3,
  kBoottime = 6,
  kIncremental = 64,
};

enum class TraceUuid : Tag { kMsb = 1, kLsb = 2 };

enum class TracePacketDefaults : Tag { kTrackEventDefaults = 11, kTimestampClockId = 58 };
enum class TrackEventDefaults : Tag { kTrackUuid = 11 };

enum class TrackDescriptor : Tag {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kStaticName = 10,
  kAtraceName = 13,
  kDescription = 14,
  kSiblingMergeBehavior = 15,
};
enum SiblingMergeBehavior : int32_t { kMergeNone = 2 };

enum class ProcessDescriptor : Tag { kPid = 1, kProcessName = 6 };
enum class ThreadDescriptor : Tag {
  kPid = 1,
  kTid = 2,
  kThreadName = 5,
  kReferenceTimestampUs = 6,
};
enum class CounterDescriptor : Tag {
  kUnit = 3,
  kUnitMultiplier = 4,
  kIsIncremental = 5,
  kUnitName = 6,
};

enum class TrackEvent : Tag {
  kTimestampDeltaUs = 1,
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kLegacyEvent = 6,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kExtraCounterValues = 12,
  kTimestampAbsoluteUs = 16,
  kCategories = 22,
  kName = 23,
  kCounterValue = 30,
  kDoubleCounterValue = 44,
  kExtraDoubleCounterValues = 46,
};
enum TrackEventType : int32_t {
  kSliceBegin = 1,
  kSliceEnd = 2,
  kInstant = 3,
  kCounter = 4,
};

enum class LegacyEvent : Tag {
  kNameIid = 1,
  kPhase = 2,
  kDurationUs = 3,
  kPidOverride = 18,
  kTidOverride = 19,
};

enum class DebugAnnotation : Tag {
  kNameIid = 1,
  kIntValue = 4,
  kStringValue = 6,
  kName = 10,
  kStringValueIid = 17,
};

enum class InternedData : Tag {
  kEventCategories = 1,
  kEventNames = 2,
  kDebugAnnotationNames = 3,
  kDebugAnnotationStringValues = 29,
};
// EventCategory, EventName, DebugAnnotationName and InternedString share this shape.
enum class InternedEntry : Tag { kIid = 1, kText = 2 };

}  // namespace inferprobe::perfetto
