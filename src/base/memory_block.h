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

  // Makes the pages of this part present and writable, so that no later touch faults.
  [[nodiscard]] bool Reserve(size_t offset, size_t bytes) const;
  // Gives the pages back to the system; the addresses stay valid. Private memory only, others keep
  // what they hold.
  void Discard() const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;  // of a file, for reserving its blocks
  bool private_ = false;
};

}  // namespace inferprobe::base
