// Reading files, with errors that name the file and say what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "inferprobe/result.h"

namespace inferprobe::base {

struct GuardedMapping;

// The whole file, at most `limit` bytes (larger: kMalformed).
Result<std::string> ReadFile(const std::string& path, uint64_t limit = uint64_t{1} << 32);

// A read-only mapping of a whole file; empty files map to an empty view.
//
// The rule that people break: somebody may write to the file while it is read. Where it has become
// shorter, bytes() are zeros (base/shrinking_files.h), also bytes that were something else before;
// whoever has read asks Whole(), and returns its error instead of what was found. A file that grows
// keeps the size that it had when it was opened.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }
  // An error that names the first byte that is not there any more, or could not be read.
  [[nodiscard]] Result<void> Whole() const;
  // The first `count` bytes need no memory any more, until they are read again.
  void GiveBack(size_t count) const;

 private:
  MappedFile() = default;
  std::string path_;
  OwnedFd fd_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  GuardedMapping* guard_ = nullptr;
};

// An error unless `path` is a regular file that may be read; it says why, FileExists cannot.
Result<void> CheckReadableFile(const std::string& path);
// Whether both names lead to one file, by links too. Of names that do not exist yet: whether they
// would be one in the same folder.
bool SameFile(const std::string& a, const std::string& b);
bool FileExists(const std::string& path);
// Folder of the running program ("/usr/bin"), and the program's own path.
std::string ExecutablePath();
std::string DirectoryOf(const std::string& path);
// 0, or the errno that says why no file can be made in `folder`.
int WhyFolderNotWritable(const std::string& folder);
// Names in a folder, sorted; empty if it cannot be read.
std::vector<std::string> ListDirectory(const std::string& path);

// "text of errno" in the words of the C library.
std::string SystemErrorText(int error);

// SHA-256 as 64 hex digits.
std::string Sha256Hex(std::string_view bytes);
// 32 random hex digits.
std::string RandomHex128();

}  // namespace inferprobe::base
