// Memory that a parent and its workers share: a memfd that cannot shrink, so that a mapping of it
// never faults, and that keeps its content when one of them is killed.
#pragma once

#include <cstddef>
#include <string>

#include "base/owned_fd.h"
#include "inferprobe/result.h"

namespace inferprobe::base {

class SharedMemory {
 public:
  // Zeroed. `name` is shown in /proc/PID/maps.
  static Result<SharedMemory> Create(size_t bytes, const std::string& name = "inferprobe");
  // Maps another's memory; `fd` stays the caller's. kInvalidArgument when it is no such memory.
  static Result<SharedMemory> Map(int fd);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }
  // To be passed on (SpawnOptions::fds); -1 for memory that was mapped from another's.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  SharedMemory() = default;
  Result<void> MapFd(int fd, size_t bytes);

  OwnedFd fd_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace inferprobe::base
