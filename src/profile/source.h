// Where figures come from that were not measured just now: a file, and what is in it beside times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inferprobe::profile {

// Blocks of a file that follow each other and are of the same name and size, as one.
struct BlockGroup {
  std::string name;     // "Execute"
  uint64_t count = 1;   // blocks
  uint64_t events = 0;  // in each
};

struct PacketCount {
  std::string type;  // "ftrace_events"
  uint64_t count = 0;
};

struct SourceFacts {
  std::string path;
  std::string format;  // "etdump"
  std::string title;   // "ETDump"
  uint64_t bytes = 0;
  std::vector<BlockGroup> blocks;    // formats that have blocks of runs
  std::vector<PacketCount> packets;  // formats of packets: those that were not read, by type
  std::vector<std::string> notes;    // for people, as the file has them
};

}  // namespace inferprobe::profile
