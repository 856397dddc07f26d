// One TracePacket message taken apart: its envelope, and the messages in it, which nobody has
// looked into yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inferprobe::perfetto {

struct RawPacket {
  std::optional<uint64_t> timestamp;
  std::optional<uint32_t> clock;
  uint32_t sequence = 0;
  uint32_t flags = 0;
  bool dropped_before = false;
  std::string_view event;
  std::string_view interned;
  std::string_view defaults;
  std::string_view snapshot;
  std::string_view track;
  std::string_view thread;
  std::string_view uuid;
  std::string_view compressed;
  std::vector<uint32_t> others;  // fields that are not read
};

// False if it is none.
bool ParsePacket(std::string_view message, RawPacket& packet);

}  // namespace inferprobe::perfetto
