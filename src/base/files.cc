#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sha2.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/owned_fd.h"
#include "base/shrinking_files.h"

namespace inferprobe::base {
namespace {

std::string Hex(const unsigned char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
  return text;
}

// Opens a regular file for reading and tells its size. Without O_NONBLOCK a pipe would hold the
// open() until somebody writes to it.
Result<int> OpenRegular(const std::string& path, uint64_t* size) {
  if (path.empty()) return MakeError(ErrorCode::kInvalidArgument, "the path of a file is empty");
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  const int error = errno;
  if (fd < 0 && error != ENXIO) {  // ENXIO: a socket
    const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return MakeError(code, fmt::format("cannot open {}: {}", path, SystemErrorText(error)));
  }
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const bool folder = S_ISDIR(info.st_mode);
    if (fd >= 0) close(fd);
    return MakeError(ErrorCode::kMalformed,
                     fmt::format("{} is {}", path, folder ? "a folder" : "not a regular file"),
                     "give the name of a file");
  }
  char byte = 0;
  if (info.st_size == 0 && pread(fd, &byte, 1, 0) == 1) {
    close(fd);
    return MakeError(ErrorCode::kMalformed,
                     fmt::format("{} has no size: its bytes are made as they are read", path),
                     fmt::format("read a copy: cat {} > copy", path));
  }
  *size = static_cast<uint64_t>(info.st_size);
  return fd;
}

// With its folder resolved; "" if there is no such folder.
std::string CanonicalPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> folder(realpath(DirectoryOf(path).c_str(), nullptr),
                                                      free);
  return folder ? fmt::format("{}/{}", folder.get(), path.substr(path.rfind('/') + 1)) : "";
}

}  // namespace

std::string SystemErrorText(int error) {
  std::array<char, 256> buffer{};
  return strerror_r(error, buffer.data(), buffer.size());
}

Result<std::string> ReadFile(const std::string& path, uint64_t limit) {
  uint64_t size = 0;
  auto opened = OpenRegular(path, &size);
  if (!opened) return tl::unexpected(opened.error());
  const OwnedFd fd(*opened);
  if (size > limit) {
    return MakeError(ErrorCode::kMalformed,
                     fmt::format("{} has {} bytes; at most {} are expected", path, size, limit));
  }
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0) {
      if (errno == EINTR) continue;
      return MakeError(ErrorCode::kIo,
                       fmt::format("cannot read {}: {}", path, SystemErrorText(errno)));
    }
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  uint64_t size = 0;
  auto opened = OpenRegular(path, &size);
  if (!opened) return tl::unexpected(opened.error());
  MappedFile file;
  file.path_ = path;
  file.fd_.Reset(*opened);
  if (size == 0) return file;
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd_.get(), 0);
  if (address == MAP_FAILED) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot map {}: {}", path, SystemErrorText(errno)));
  }
  file.data_ = static_cast<const char*>(address);
  file.size_ = size;
  file.guard_ = GuardMapping(address, size);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  EndGuard(guard_);
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

Result<void> MappedFile::Whole() const {
  struct stat info = {};
  const bool known = fd_.valid() && fstat(fd_.get(), &info) == 0;
  // Also where no read failed: the rest of a page that the end lies in is zeros.
  if (const auto now = static_cast<uint64_t>(info.st_size); known && now < size_) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("{}: became shorter while it was read (byte {})", path_, now),
                     "wait until whatever writes it is done, or read a copy");
  }
  const auto missing = guard_ == nullptr ? std::nullopt : FirstMissingByte(guard_);
  if (!missing) return {};
  return MakeError(ErrorCode::kIo,
                   fmt::format("{}: could not be read (byte {}): it was shorter for a time, or its "
                               "disk has an error",
                               path_, *missing),
                   "wait until whatever writes it is done, or read a copy");
}

void MappedFile::GiveBack(size_t count) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = std::min(count, size_) / page * page;
  // Advice: where it is not taken, nothing is lost.
  if (whole > 0) madvise(const_cast<char*>(data_), whole, MADV_DONTNEED);
}

Result<void> CheckReadableFile(const std::string& path) {
  uint64_t size = 0;
  auto opened = OpenRegular(path, &size);
  if (!opened) return tl::unexpected(opened.error());
  close(*opened);
  return {};
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat of_a = {};
  struct stat of_b = {};
  if (stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0) {
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  const std::string path = CanonicalPath(a);
  return path.empty() ? a == b : path == CanonicalPath(b);
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string ExecutablePath() {
  std::array<char, 4096> buffer{};
  const ssize_t n = readlink("/proc/self/exe", buffer.data(), buffer.size() - 1);
  return n > 0 ? std::string(buffer.data(), static_cast<size_t>(n)) : std::string();
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int WhyFolderNotWritable(const std::string& folder) {
  struct stat facts{};
  if (stat(folder.c_str(), &facts) != 0) return errno;
  if (!S_ISDIR(facts.st_mode)) return ENOTDIR;
  // Of the effective user, who will write.
  return faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Sha256Hex(std::string_view bytes) {
  SHA2_CTX context;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  SHA256Final(digest.data(), &context);
  return Hex(digest.data(), digest.size());
}

std::string RandomHex128() {
  std::array<unsigned char, 16> bytes{};
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (n > 0) have += static_cast<size_t>(n);
  }
  return Hex(bytes.data(), bytes.size());
}

}  // namespace inferprobe::base
