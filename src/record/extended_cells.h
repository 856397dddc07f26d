// A cell with the facts that few have: which instruction, chain and delegate event it is of, and
// bytes that a delegate attached to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "record/ring_writer.h"

namespace inferprobe::record {

// What is kept of the bytes that are attached to one event.
constexpr size_t kMaxMetadata = 28 * 36;

struct Extension {
  int32_t delegate_id = -1;
  int32_t chain = -1;
  uint32_t debug_name = 0;
  std::string_view metadata;
};

// False: the metadata was cut to kMaxMetadata.
inline bool PublishExtended(ThreadRing* ring, const Cell& cell, const Extension& extension) {
  constexpr size_t kBytesPerCell = 28;
  const std::string_view kept = extension.metadata.substr(0, kMaxMetadata);
  std::array<Cell, 2 + kMaxMetadata / kBytesPerCell> cells;
  cells[0] = cell;
  cells[1] = {static_cast<uint64_t>(static_cast<uint32_t>(extension.delegate_id)) |
                  static_cast<uint64_t>(static_cast<uint32_t>(extension.chain)) << 32,
              0,
              extension.debug_name,
              kNoInstruction,  // the cell's own info has it
              static_cast<uint32_t>(kept.size()),
              PackInfo(CellType::kExtension, 0)};
  size_t count = 2;
  for (size_t at = 0; at < kept.size(); at += kBytesPerCell) {
    Cell& next = cells[count++];
    next = {0, 0, 0, 0, 0, PackInfo(CellType::kBytes, 0)};
    static_assert(offsetof(Cell, info) == kBytesPerCell);
    std::memcpy(static_cast<void*>(&next), kept.data() + at,
                std::min(kBytesPerCell, kept.size() - at));
  }
  PublishGroup(ring, {cells.data(), count});
  return kept.size() == extension.metadata.size();
}

}  // namespace inferprobe::record
