#include "engines/executorch/counting_allocator.h"

#include <cstdlib>

namespace inferprobe::executorch_engine {

void* CountingAllocator::allocate(size_t size, size_t alignment) {
  size_t padded = 0;
  if (!isPowerOf2(alignment) || __builtin_add_overflow(size, alignment, &padded)) return nullptr;
  // malloc aligns for every fundamental type already.
  void* block = std::malloc(alignment <= alignof(std::max_align_t) ? size : padded);
  if (block == nullptr) return nullptr;
  blocks_.push_back(block);
  ++count_;
  bytes_ += static_cast<int64_t>(size);
  live_bytes_ += size;
  return alignPointer(block, alignment);
}

void CountingAllocator::reset() {
  for (void* block : blocks_) std::free(block);
  blocks_.clear();
  live_bytes_ = 0;
}

}  // namespace inferprobe::executorch_engine
