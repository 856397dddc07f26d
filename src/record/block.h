// One recorder's memory, laid out and ready to be written. Threads that record share its ownership:
// a stopped recorder's block lives until the last of them has moved on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/memory_block.h"
#include "inferprobe/recorder.h"
#include "record/layout.h"

namespace inferprobe::record {

struct BlockPlan {
  uint32_t ring_count = 0;
  uint64_t ring_capacity = 0;
  uint64_t names_offset = 0;
  uint64_t names_bytes = 0;
  uint64_t cells_offset = 0;
  uint64_t total_bytes = 0;
  uint64_t present_bytes = 0;  // of a ring, once a thread has it
};
Result<BlockPlan> PlanBlock(const RecorderOptions& options);

class Block {
 public:
  static Result<std::shared_ptr<Block>> Create(const RecorderOptions& options);

  [[nodiscard]] const base::MemoryBlock& memory() const { return memory_; }
  [[nodiscard]] Header* header() const { return reinterpret_cast<Header*>(memory_.data()); }
  [[nodiscard]] RingHeader* ring(uint32_t index) const {
    return reinterpret_cast<RingHeader*>(memory_.data() + sizeof(Header)) + index;
  }
  [[nodiscard]] Cell* cells(uint32_t index) const {
    return reinterpret_cast<Cell*>(memory_.data() + plan_.cells_offset) +
           index * plan_.ring_capacity;
  }
  [[nodiscard]] std::byte* names() const { return memory_.data() + plan_.names_offset; }
  [[nodiscard]] const BlockPlan& plan() const { return plan_; }

  // Makes the pages of a ring present that shall be. False: the system has none.
  [[nodiscard]] bool ReserveRing(uint32_t index) const {
    const uint64_t bytes = plan_.ring_capacity * sizeof(Cell);
    return memory_.Reserve(plan_.cells_offset + index * bytes,
                           std::min(bytes, plan_.present_bytes));
  }

 private:
  base::MemoryBlock memory_;
  BlockPlan plan_;
};

}  // namespace inferprobe::record
