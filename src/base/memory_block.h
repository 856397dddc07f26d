// A block of memory for the recorder: private, a mapped file, or shared with another process.
//
// The rule that people break: memory of a file or a memfd that the system cannot provide ends the
// process with SIGBUS at its first touch. Reserve() asks for it beforehand, where that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "inferprobe/result.h"

namespace inferprobe::base {

class MemoryBlock {
 public:
  // Each refuses more than the machine's memory.
  static Result<MemoryBlock> Private(size_t bytes);
  // Refuses an existing file.
  static Result<MemoryBlock> CreateFile(const std::string& path, size_t bytes);
  // Maps `bytes` of a memfd (base/shared_memory.h), which must have them. The descriptor stays the
  // caller's.
  static Result<MemoryBlock> Shared(int fd, size_t bytes);
  MemoryBlock() = default;
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;
  ~MemoryBlock();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

  // Asks the system for the pages of this part, so that no later touch of them can fail. Only the
  // first kPopulatedBytes of it are made present, so that this does not take seconds; of shared
  // memory all, since nothing else reserves it.
  [[nodiscard]] bool Reserve(size_t offset, size_t bytes) const;
  static constexpr size_t kPopulatedBytes = size_t{64} << 20;
  // Gives the pages back to the system; the addresses stay valid. Private memory only, others keep
  // what they hold.
  void Discard() const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;  // of a file, for reserving its blocks
  bool private_ = false;

  [[nodiscard]] bool Populate(size_t begin, size_t end) const;
};

// Memory that is about to be filled once: the system may take large pages for the whole of them
// within, which saves hundreds of page faults a MB. Advice; it changes nothing else.
void PreferLargePages(void* memory, size_t bytes);

// Memory of which little may be used: a touch shall take one page, on systems too that give large
// ones unasked. Advice, for whole pages.
void PreferSmallPages(void* memory, size_t bytes);

}  // namespace inferprobe::base
