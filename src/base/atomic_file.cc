#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/unfinished_files.h"

namespace inferprobe::base {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kStandardOutput = "/dev/stdout";
constexpr int kTries = 10;

// Where the bytes go. With --force a link to a file stays: its target is what is replaced.
struct Target {
  std::string path;
  bool direct = false;  // a device or a pipe: written in place
};

tl::unexpected<Error> AlreadyThere(const std::string& path) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("{} exists already", path),
                   "choose another name, or give --force to replace it");
}

tl::unexpected<Error> LeftOver(const std::string& partial) {
  return MakeError(
      ErrorCode::kAlreadyExists,
      fmt::format("{} exists: an earlier run was killed, or another is writing", partial),
      "keep it, rename it or remove it, or give --force");
}

tl::unexpected<Error> OthersWrite(const std::string& path) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("another process is writing {}", path),
                   "wait for it, or choose another name");
}

tl::unexpected<Error> IoError(std::string_view doing, const std::string& path, int error) {
  return MakeError(ErrorCode::kIo,
                   fmt::format("cannot {} {}: {}", doing, path, SystemErrorText(error)));
}

// The folder on the way to `path` that cannot be entered, or what is no folder there.
std::string Obstacle(const std::string& path) {
  std::string before = path.starts_with('/') ? "/" : ".";
  for (size_t slash = path.find('/', 1); before != path; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    struct stat info = {};
    if (stat(part.c_str(), &info) != 0) return before;
    if (!S_ISDIR(info.st_mode)) return part;
    before = std::move(part);
    if (slash == std::string::npos) break;
  }
  return path;
}

Result<void> CheckFolder(const std::string& folder) {
  struct stat info = {};
  const int error = stat(folder.c_str(), &info) == 0 ? 0 : errno;
  if (error == ENOENT) {
    return MakeError(ErrorCode::kNotFound, fmt::format("the folder {} does not exist", folder),
                     fmt::format("create it: mkdir -p {}", folder));
  }
  if (error == ENOTDIR || (error == 0 && !S_ISDIR(info.st_mode))) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is not a folder", Obstacle(folder)),
                     "give the name of a file in a folder");
  }
  if (error == EACCES) return IoError("enter the folder", Obstacle(folder), error);
  if (error != 0) return IoError("use the folder", folder, error);
  return {};
}

Result<void> CheckNameLength(const std::string& path) {
  const std::string folder = DirectoryOf(path);
  const size_t length = path.size() - (path.rfind('/') + 1) + kPartial.size();
  const int64_t limit = pathconf(folder.c_str(), _PC_NAME_MAX);
  if (limit > 0 && length > static_cast<size_t>(limit)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the name of {} is too long: with {} it has {} bytes, the folder "
                                 "takes {}",
                                 path, kPartial, length, limit),
                     "choose a shorter name");
  }
  return {};
}

std::string LinkText(const std::string& path) {
  std::array<char, 4096> text{};
  const ssize_t n = readlink(path.c_str(), text.data(), text.size());
  return n > 0 ? std::string(text.data(), static_cast<size_t>(n)) : std::string("?");
}

// What is at `path`, and whether it may be replaced.
Result<Target> FindTarget(const std::string& path, Overwrite overwrite) {
  if (path.empty()) return MakeError(ErrorCode::kInvalidArgument, "the output's path is empty");
  // Also where a shell has made a file of it, which is then there already.
  if (path == kStandardOutput) return Target{path, true};
  INFERPROBE_RETURN_IF_ERROR(CheckFolder(DirectoryOf(path)));
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return Target{path};
    if (errno == ENAMETOOLONG) INFERPROBE_RETURN_IF_ERROR(CheckNameLength(path));
    if (errno == EACCES) return IoError("enter the folder", Obstacle(DirectoryOf(path)), EACCES);
    return IoError("create", path, errno);
  }
  const bool link = S_ISLNK(info.st_mode);
  if (link && stat(path.c_str(), &info) != 0) {
    const int error = errno;
    if (overwrite == Overwrite::kForce) return Target{path};  // the link itself is replaced
    return MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("{} is a link to {}: {}", path, LinkText(path), SystemErrorText(error)),
        "remove the link, or give --force to replace it");
  }
  if (S_ISDIR(info.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is a folder", path),
                     "give the name of a file");
  }
  if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISBLK(info.st_mode)) {
    return Target{path, true};
  }
  if (!S_ISREG(info.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is not a regular file", path),
                     "give the name of a file");
  }
  if (overwrite == Overwrite::kRefuse) return AlreadyThere(path);
  if (!link) return Target{path};
  const std::unique_ptr<char, void (*)(void*)> resolved(realpath(path.c_str(), nullptr), free);
  if (!resolved) return IoError("follow the link", path, errno);
  return Target{resolved.get()};
}

// Whether another open file holds the lock. It is tried as a reader, for an instant.
bool HeldByAnother(const std::string& partial) {
  const OwnedFd fd(open(partial.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return fd.valid() && flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool IsThere(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0;
}

Result<void> CheckTarget(const Target& target, Overwrite overwrite) {
  if (target.direct) {
    if (faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
      return IoError("write", target.path, errno);
    }
    return {};
  }
  const std::string folder = DirectoryOf(target.path);
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return IoError("write in", folder, errno);
  }
  INFERPROBE_RETURN_IF_ERROR(CheckNameLength(target.path));
  const std::string partial = target.path + std::string(kPartial);
  if (!IsThere(partial)) return {};
  if (HeldByAnother(partial)) return OthersWrite(target.path);
  if (overwrite == Overwrite::kRefuse) return LeftOver(partial);
  return {};
}

Result<OwnedFd> OpenDirect(const std::string& path) {
  if (path == kStandardOutput) {
    // Not opened anew: that would begin at the start of a file that a shell appends to.
    OwnedFd same(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!same.valid()) return IoError("write", path, errno);
    return same;
  }
  // A pipe without a reader would hold the open() until one comes.
  OwnedFd fd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENXIO) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is a pipe that nobody reads; give a file", path));
  }
  if (!fd.valid()) return IoError("open", path, errno);
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// Whether the lock is ours. Others try it for an instant only, so a few attempts tell.
Result<bool> Lock(int fd, const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    // A file system without locks: O_EXCL still guards all but --force.
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return IoError("lock", path, errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Our own empty file of that name, which no other process has: a lock tells a living writer from
// what a killed run left behind.
Result<OwnedFd> OpenPartial(const std::string& path, Overwrite overwrite) {
  const std::string partial = path + std::string(kPartial);
  const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                    (overwrite == Overwrite::kRefuse ? O_EXCL : 0);
  for (int i = 0; i < kTries; ++i) {
    OwnedFd fd(open(partial.c_str(), flags, 0644));
    if (!fd.valid()) {
      const int error = errno;
      if (error == EEXIST) return HeldByAnother(partial) ? OthersWrite(path) : LeftOver(partial);
      // A link there: the link goes, what it points to is not ours.
      if (error == ELOOP && unlink(partial.c_str()) == 0) continue;
      return IoError("create", partial, error);
    }
    auto locked = Lock(fd.get(), partial);
    if (!locked) return tl::unexpected(locked.error());
    if (!*locked) return OthersWrite(path);
    struct stat opened = {};
    struct stat named = {};
    if (fstat(fd.get(), &opened) != 0) return IoError("create", partial, errno);
    // Its writer may have finished between our open() and our lock: then it has the final name.
    if (lstat(partial.c_str(), &named) != 0 || opened.st_ino != named.st_ino ||
        opened.st_dev != named.st_dev) {
      continue;
    }
    if (!S_ISREG(opened.st_mode)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} is not a regular file", partial), "remove it");
    }
    // A run that was killed between its link() and its unlink(): the final file is the same one.
    if (opened.st_nlink > 1) {
      if (unlink(partial.c_str()) != 0) return IoError("remove", partial, errno);
      continue;
    }
    if (ftruncate(fd.get(), 0) != 0) return IoError("create", partial, errno);
    return fd;
  }
  return OthersWrite(path);
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
  auto target = FindTarget(path, overwrite);
  if (!target) return tl::unexpected(target.error());
  return CheckTarget(*target, overwrite);
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, Overwrite overwrite) {
  auto target = FindTarget(path, overwrite);
  if (!target) return tl::unexpected(target.error());
  INFERPROBE_RETURN_IF_ERROR(CheckTarget(*target, overwrite));
  auto fd = target->direct ? OpenDirect(path) : OpenPartial(target->path, overwrite);
  if (!fd) return tl::unexpected(fd.error());
  struct stat replaced = {};
  if (!target->direct && stat(target->path.c_str(), &replaced) == 0) {
    // Best effort: some file systems have no permissions to set.
    (void)fchmod(fd->get(), replaced.st_mode & 0777);
  }
  AtomicFile file;
  file.path_ = path;
  file.target_ = target->path;
  file.partial_ = target->direct ? path : target->path + std::string(kPartial);
  file.overwrite_ = overwrite;
  file.direct_ = target->direct;
  if (!file.direct_) file.unfinished_ = KeepUnfinished(file.partial_);
  file.fd_ = fd->Release();
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  partial_ = std::move(other.partial_);
  buffer_ = std::move(other.buffer_);
  error_ = std::move(other.error_);
  written_ = other.written_;
  fd_ = std::exchange(other.fd_, -1);
  unfinished_ = std::exchange(other.unfinished_, kNotKept);
  failed_ = other.failed_;
  direct_ = other.direct_;
  overwrite_ = other.overwrite_;
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  // Before the lock goes: afterwards the name may be another's.
  if (!direct_) unlink(partial_.c_str());
  Close();
}

void AtomicFile::Close() {
  ForgetUnfinished(std::exchange(unfinished_, kNotKept));
  close(std::exchange(fd_, -1));
}

void AtomicFile::Abandon() {
  if (fd_ < 0) return;
  (void)Flush();
  if (fd_ >= 0) Close();
}

Result<void> AtomicFile::Fail(const char* doing, int error) {
  failed_ = true;
  error_ =
      Error{ErrorCode::kIo, fmt::format("cannot {} {}: {}", doing, path_, SystemErrorText(error)),
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
    if (link(partial_.c_str(), target_.c_str()) == 0) {
      unlink(partial_.c_str());
    } else if (errno == EEXIST) {
      Discard();
      return AlreadyThere(path_);
    } else if (rename(partial_.c_str(), target_.c_str()) != 0) {  // a file system without links
      return Fail("rename to", errno);
    }
  } else if (rename(partial_.c_str(), target_.c_str()) != 0) {
    return Fail("rename to", errno);
  }
  Close();
  SyncDirectory(target_);
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
