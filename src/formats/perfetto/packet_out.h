// Pieces that our writer's packets and events are made of.
//
// The rule that people break: without a sequence id Perfetto ignores interned data.
#pragma once

#include <cstdint>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/fields.h"

namespace inferprobe::perfetto {

constexpr uint32_t kSequence = 1;

inline void SetSequence(protozero::pbf_builder<TracePacket>& packet, uint32_t flags) {
  packet.add_uint32(TracePacket::kTrustedPacketSequenceId, kSequence);
  if (flags != 0) packet.add_uint32(TracePacket::kSequenceFlags, flags);
}

inline void AddInt(protozero::pbf_builder<TrackEvent>& event, uint64_t name_iid, int64_t value) {
  protozero::pbf_builder<DebugAnnotation> annotation{event, TrackEvent::kDebugAnnotations};
  annotation.add_uint64(DebugAnnotation::kNameIid, name_iid);
  annotation.add_int64(DebugAnnotation::kIntValue, value);
}

inline void AddText(protozero::pbf_builder<TrackEvent>& event, uint64_t name_iid,
                    uint64_t value_iid) {
  protozero::pbf_builder<DebugAnnotation> annotation{event, TrackEvent::kDebugAnnotations};
  annotation.add_uint64(DebugAnnotation::kNameIid, name_iid);
  annotation.add_uint64(DebugAnnotation::kStringValueIid, value_iid);
}

}  // namespace inferprobe::perfetto
