#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files.h"

namespace inferprobe::base {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

bool IsDevice(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 &&
         (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISBLK(info.st_mode));
}

tl::unexpected<Error> AlreadyThere(const std::string& path) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("{} exists already", path),
                   "choose another name, or give --force to replace it");
}

// Flushes the rename itself to disk. Failure is not an error: some file systems refuse it.
void SyncDirectory(const std::string& path) {
  const int fd = open(DirectoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Result<void> CheckWritable(const std::string& path, Overwrite overwrite) {
  if (path.empty()) return MakeError(ErrorCode::kInvalidArgument, "the output's path is empty");
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is a folder", path),
                       "give the name of a file");
    }
    if (IsDevice(path)) return {};
    if (overwrite == Overwrite::kRefuse) return AlreadyThere(path);
  }
  const std::string folder = DirectoryOf(path);
  if (stat(folder.c_str(), &info) != 0) {
    return MakeError(ErrorCode::kNotFound, fmt::format("the folder {} does not exist", folder),
                     fmt::format("create it: mkdir -p {}", folder));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot write in {}: {}", folder, SystemErrorText(errno)));
  }
  return {};
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, Overwrite overwrite) {
  INFERPROBE_RETURN_IF_ERROR(CheckWritable(path, overwrite));
  AtomicFile file;
  file.path_ = path;
  file.overwrite_ = overwrite;
  file.direct_ = IsDevice(path);
  if (file.direct_) {
    file.partial_ = path;
    file.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.partial_ = path + ".partial";
    // A partial file of an earlier run that was killed may hold data that somebody wants.
    const int flags = overwrite == Overwrite::kForce ? O_TRUNC : O_EXCL;
    file.fd_ = open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    if (file.fd_ < 0 && errno == EEXIST) {
      return MakeError(ErrorCode::kAlreadyExists,
                       fmt::format("{} exists: an earlier run was killed, or another is writing",
                                   file.partial_),
                       "keep it, rename it or remove it, or give --force");
    }
  }
  if (file.fd_ < 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot create {}: {}", file.partial_, SystemErrorText(errno)));
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  partial_ = std::move(other.partial_);
  buffer_ = std::move(other.buffer_);
  error_ = std::move(other.error_);
  written_ = other.written_;
  fd_ = std::exchange(other.fd_, -1);
  failed_ = other.failed_;
  direct_ = other.direct_;
  overwrite_ = other.overwrite_;
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  if (!direct_) unlink(partial_.c_str());
}

void AtomicFile::Abandon() {
  if (fd_ < 0) return;
  (void)Flush();
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<void> AtomicFile::Fail(const char* doing, int error) {
  failed_ = true;
  error_ = Error{ErrorCode::kIo,
                 fmt::format("cannot {} {}: {}", doing, path_, SystemErrorText(error)),
                 error == ENOSPC || error == EDQUOT || error == EFBIG
                     ? "make room, or write to another file system"
                     : ""};
  Discard();
  return tl::unexpected<Error>(error_);
}

Result<void> AtomicFile::Write(std::string_view bytes) {
  if (failed_) return tl::unexpected<Error>(error_);
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) return Flush();
  return {};
}

Result<void> AtomicFile::Flush() {
  if (failed_) return tl::unexpected<Error>(error_);
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return Fail("write", errno);
    }
    written_ += static_cast<uint64_t>(n);
    rest.remove_prefix(static_cast<size_t>(n));
  }
  buffer_.clear();
  return {};
}

Result<void> AtomicFile::Commit() {
  INFERPROBE_RETURN_IF_ERROR(Flush());
  if (direct_) {
    if (close(std::exchange(fd_, -1)) != 0) return Fail("close", errno);
    return {};
  }
  if (fsync(fd_) != 0) return Fail("write", errno);
  if (overwrite_ == Overwrite::kRefuse) {
    // link() refuses an existing name, where rename() would replace it.
    if (link(partial_.c_str(), path_.c_str()) == 0) {
      unlink(partial_.c_str());
    } else if (errno == EEXIST) {
      Discard();
      return AlreadyThere(path_);
    } else if (rename(partial_.c_str(), path_.c_str()) != 0) {  // a file system without links
      return Fail("rename to", errno);
    }
  } else if (rename(partial_.c_str(), path_.c_str()) != 0) {
    return Fail("rename to", errno);
  }
  close(std::exchange(fd_, -1));
  SyncDirectory(path_);
  return {};
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes,
                                 Overwrite overwrite) {
  auto file = AtomicFile::Create(path, overwrite);
  if (!file) return tl::unexpected(file.error());
  INFERPROBE_RETURN_IF_ERROR(file->Write(bytes));
  return file->Commit();
}

}  // namespace inferprobe::base
