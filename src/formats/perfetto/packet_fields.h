// The names of all fields of Perfetto's TracePacket, so that packets which we do not read can be
// counted by what they are.
#pragma once

#include <cstdint>
#include <string>

#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {

struct PacketField {
  uint32_t number = 0;
  const char* name = nullptr;
  WireType type = WireType::kBytes;
};

// nullptr: not known to this version.
const PacketField* FindPacketField(uint32_t number);

// "ftrace_events", or "field 123".
std::string PacketFieldName(uint32_t number);

}  // namespace inferprobe::perfetto
