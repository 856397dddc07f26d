#include "base/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace inferprobe::base {
namespace {
constexpr const char* kHint = "raise the limit (`ulimit -v`), or ask for less (--ring-events)";
}

Result<SharedMemory> SharedMemory::Create(size_t bytes, const std::string& name) {
  if (bytes == 0) return MakeError(ErrorCode::kInvalidArgument, "shared memory of 0 bytes");
  SharedMemory memory;
  memory.fd_.Reset(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = memory.fd_.get();
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return MakeError(
        ErrorCode::kIo,
        fmt::format("cannot create {} bytes of shared memory: {}", bytes, SystemErrorText(errno)),
        kHint);
  }
  INFERPROBE_RETURN_IF_ERROR(memory.MapFd(fd, bytes));
  return memory;
}

Result<SharedMemory> SharedMemory::Map(int fd) {
  struct stat info = {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &info) != 0 || info.st_size <= 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("descriptor {} is no shared memory of inferprobe's", fd));
  }
  SharedMemory memory;
  INFERPROBE_RETURN_IF_ERROR(memory.MapFd(fd, static_cast<size_t>(info.st_size)));
  return memory;
}

Result<void> SharedMemory::MapFd(int fd, size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) {
    return MakeError(
        ErrorCode::kIo,
        fmt::format("cannot map {} bytes of shared memory: {}", bytes, SystemErrorText(errno)),
        kHint);
  }
  data_ = address;
  size_ = bytes;
  return {};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace inferprobe::base
