// A parallel region's cells, read and checked as one.
//
// The rule that people break: a group is whole or it is nothing. What a recorder does not write,
// as a count without its cells, is damage, however plausible the rest is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/regions.h"
#include "record/block_reader.h"

namespace inferprobe::profile {

struct RegionCells {
  // Ids of names in the block, to be looked up: `region.file`, `function` and `code` hold such.
  Region region;
  uint32_t label = 0;
  uint32_t operator_slice = 0;  // id in the ring, 0: not known
  int32_t instruction = -1;
  int64_t thread_id = 0;  // the calling one; 0: not known
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  struct Part {
    RegionPart part;
    int64_t thread_id = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  std::vector<Part> parts;
};

// Reads the group whose kRegion is the cell at `at` into `*group`, whose memory is used again.
// Returns how many cells belong to it; false in `*whole`: they are damaged.
uint64_t ReadRegionCells(const record::BlockReader::Cells& cells, uint64_t at, RegionCells* group,
                         bool* whole);

}  // namespace inferprobe::profile
