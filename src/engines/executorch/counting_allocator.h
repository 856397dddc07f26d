// ExecuTorch's memory from malloc, counted: what loading a method takes, and what each run takes
// for the time of one instruction.
//
// Behaves as ExecuTorch's own MallocMemoryAllocator does (one malloc an allocation, all freed by
// reset()), so that a run costs what it costs in an application that uses Module.
#pragma once

#include <executorch/runtime/core/memory_allocator.h>

#include <cstdint>
#include <vector>

namespace inferprobe::executorch_engine {

class CountingAllocator final : public ::executorch::runtime::MemoryAllocator {
 public:
  CountingAllocator() : MemoryAllocator(0, nullptr) { blocks_.reserve(64); }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;
  ~CountingAllocator() override { reset(); }

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  // Frees everything. The counts go on.
  void reset() override;
  [[nodiscard]] size_t used_size() const override { return live_bytes_; }

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t bytes() const { return bytes_; }
  void ResetCounts() { count_ = bytes_ = 0; }

 private:
  std::vector<void*> blocks_;
  int64_t count_ = 0;
  int64_t bytes_ = 0;  // as asked for, without alignment
  size_t live_bytes_ = 0;
};

}  // namespace inferprobe::executorch_engine
