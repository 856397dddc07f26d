#include "base/memory_block.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace inferprobe::base {
namespace {

#ifndef MADV_POPULATE_WRITE  // Linux 5.14, glibc 2.35
constexpr int MADV_POPULATE_WRITE = 23;
#endif

Result<std::byte*> Map(int fd, size_t bytes, const std::string& what) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (data == MAP_FAILED) {
    return MakeError(ErrorCode::kIo, what + ": cannot map memory: " + SystemErrorText(errno));
  }
  return static_cast<std::byte*>(data);
}

// ftruncate beyond RLIMIT_FSIZE would send SIGXFSZ, which ends a process that does not expect it.
bool WithinFileSizeLimit(size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

Result<void> CheckSize(size_t bytes) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const uint64_t physical = static_cast<uint64_t>(pages) * sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= physical) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("recorder: a block of {} bytes, this machine has {} bytes of memory",
                               bytes, physical),
                   "record fewer events per thread, fewer threads or shorter names");
}

}  // namespace

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept { *this = std::move(other); }

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(private_, other.private_);
  return *this;
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

Result<MemoryBlock> MemoryBlock::Private(size_t bytes) {
  INFERPROBE_RETURN_IF_ERROR(CheckSize(bytes));
  Result<std::byte*> data = Map(-1, bytes, "recorder");
  if (!data) return tl::unexpected(data.error());
  MemoryBlock block;
  block.data_ = *data;
  block.size_ = bytes;
  block.private_ = true;
  return block;
}

Result<MemoryBlock> MemoryBlock::CreateFile(const std::string& path, size_t bytes) {
  INFERPROBE_RETURN_IF_ERROR(CheckSize(bytes));
  if (!WithinFileSizeLimit(bytes)) {
    return MakeError(ErrorCode::kIo,
                     path + ": a file of " + std::to_string(bytes) +
                         " bytes is above the limit for files of this process",
                     "raise `ulimit -f`, or record fewer events per thread or fewer threads");
  }
  MemoryBlock block;
  block.fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (block.fd_ < 0) {
    const ErrorCode code = errno == EEXIST   ? ErrorCode::kAlreadyExists
                           : errno == ENOENT ? ErrorCode::kNotFound
                                             : ErrorCode::kIo;
    return MakeError(code, path + ": cannot create: " + SystemErrorText(errno),
                     code == ErrorCode::kAlreadyExists ? "choose another name, or remove it" : "");
  }
  const auto failed = [&](Error error) {
    unlink(path.c_str());
    return tl::unexpected<Error>(std::move(error));
  };
  if (ftruncate(block.fd_, static_cast<off_t>(bytes)) != 0) {
    return failed({ErrorCode::kIo, path + ": cannot set its size: " + SystemErrorText(errno), {}});
  }
  Result<std::byte*> data = Map(block.fd_, bytes, path);
  if (!data) return failed(data.error());
  block.data_ = *data;
  block.size_ = bytes;
  return block;
}

Result<MemoryBlock> MemoryBlock::Shared(int fd, size_t bytes) {
  INFERPROBE_RETURN_IF_ERROR(CheckSize(bytes));
  struct stat info{};
  if (fstat(fd, &info) != 0 || static_cast<size_t>(info.st_size) < bytes) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("shared memory of {} bytes, the recorder needs {}", info.st_size, bytes));
  }
  Result<std::byte*> data = Map(fd, bytes, "shared memory");
  if (!data) return tl::unexpected(data.error());
  MemoryBlock block;
  block.data_ = *data;
  block.size_ = bytes;
  return block;
}

bool MemoryBlock::Reserve(size_t offset, size_t bytes) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  const size_t end = std::min((offset + bytes + page - 1) / page * page, size_);
  // Blocks of the disk first: writing to a hole of a full disk is a SIGBUS.
  if (fd_ >= 0 &&
      posix_fallocate(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    return false;
  }
  const bool reserved = private_ || fd_ >= 0;
  return Populate(begin, reserved ? std::min(end, begin + kPopulatedBytes) : end);
}

bool MemoryBlock::Populate(size_t begin, size_t end) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // In steps: what the system does not have is told before all that it has is taken.
  for (size_t at = begin; at < end; at += kPopulatedBytes) {
    const size_t step = std::min(end - at, kPopulatedBytes);
    if (madvise(data_ + at, step, MADV_POPULATE_WRITE) == 0) continue;
    if (errno != EINVAL) return false;
    for (size_t byte_at = at; byte_at < at + step; byte_at += page) {  // a kernel before 5.14
      auto* byte = reinterpret_cast<volatile std::byte*>(data_ + byte_at);
      *byte = *byte;
    }
  }
  return true;
}

void MemoryBlock::Discard() const {
  if (private_ && data_ != nullptr) madvise(data_, size_, MADV_DONTNEED);
}

void PreferLargePages(void* memory, size_t bytes) {
  constexpr size_t kLargePage = size_t{1} << 21;
  const size_t begin = (kLargePage - reinterpret_cast<uintptr_t>(memory) % kLargePage) % kLargePage;
  if (begin >= bytes) return;
  const size_t whole = (bytes - begin) / kLargePage * kLargePage;
  if (whole != 0) madvise(static_cast<std::byte*>(memory) + begin, whole, MADV_HUGEPAGE);
}

void PreferSmallPages(void* memory, size_t bytes) { madvise(memory, bytes, MADV_NOHUGEPAGE); }

}  // namespace inferprobe::base
