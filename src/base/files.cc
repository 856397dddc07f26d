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
#include <cstring>
#include <memory>

namespace inferprobe::base {
namespace {

struct Fd {
  int value;
  explicit Fd(int fd) : value(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (value >= 0) close(value);
  }
};

std::string Hex(const unsigned char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
  return text;
}

// Opens a regular file for reading and tells its size.
Result<int> OpenRegular(const std::string& path, uint64_t* size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return MakeError(code, fmt::format("cannot open {}: {}", path, SystemErrorText(errno)));
  }
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const bool folder = S_ISDIR(info.st_mode);
    close(fd);
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is {}", path, folder ? "a folder" : "not a regular file"),
                     "give the name of a file");
  }
  *size = static_cast<uint64_t>(info.st_size);
  return fd;
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
  const Fd fd(*opened);
  if (size > limit) {
    return MakeError(ErrorCode::kMalformed,
                     fmt::format("{} has {} bytes; at most {} are expected", path, size, limit));
  }
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = read(fd.value, bytes.data() + have, bytes.size() - have);
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
  const Fd fd(*opened);
  MappedFile file;
  if (size == 0) return file;
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.value, 0);
  if (address == MAP_FAILED) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot map {}: {}", path, SystemErrorText(errno)));
  }
  file.data_ = static_cast<const char*>(address);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
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
