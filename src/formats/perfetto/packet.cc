#include "formats/perfetto/packet.h"

#include "formats/perfetto/fields.h"
#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {
namespace {

// Fields that stand beside the content of a packet.
bool IsEnvelope(uint32_t number) {
  switch (number) {
    case 3:   // trusted_uid
    case 79:  // trusted_pid
    case 87:  // first_packet_on_sequence
    case 98:  // machine_id
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ParsePacket(std::string_view message, RawPacket& packet) {
  Fields fields(message);
  while (fields.Next()) {
    switch (fields.key()) {
      case VarintKey(TracePacket::kTimestamp):
        packet.timestamp = fields.value();
        break;
      case VarintKey(TracePacket::kTimestampClockId):
        packet.clock = static_cast<uint32_t>(fields.value());
        break;
      case VarintKey(TracePacket::kTrustedPacketSequenceId):
        packet.sequence = static_cast<uint32_t>(fields.value());
        break;
      case VarintKey(TracePacket::kSequenceFlags):
        packet.flags |= static_cast<uint32_t>(fields.value());
        break;
      case VarintKey(TracePacket::kIncrementalStateCleared):
        if (fields.value() != 0) packet.flags |= kIncrementalStateCleared;
        break;
      case VarintKey(TracePacket::kPreviousPacketDropped):
        packet.dropped_before = fields.value() != 0;
        break;
      case BytesKey(TracePacket::kTrackEvent):
        packet.event = fields.bytes();
        break;
      case BytesKey(TracePacket::kInternedData):
        packet.interned = fields.bytes();
        break;
      case BytesKey(TracePacket::kTracePacketDefaults):
        packet.defaults = fields.bytes();
        break;
      case BytesKey(TracePacket::kClockSnapshot):
        packet.snapshot = fields.bytes();
        break;
      case BytesKey(TracePacket::kTrackDescriptor):
        packet.track = fields.bytes();
        break;
      case BytesKey(TracePacket::kThreadDescriptor):
        packet.thread = fields.bytes();
        break;
      case BytesKey(TracePacket::kTraceUuid):
        packet.uuid = fields.bytes();
        break;
      case BytesKey(TracePacket::kCompressedPackets):
        packet.compressed = fields.bytes();
        break;
      default:
        if (!IsEnvelope(fields.number())) packet.others.push_back(fields.number());
    }
  }
  return !fields.damaged();
}

}  // namespace inferprobe::perfetto
