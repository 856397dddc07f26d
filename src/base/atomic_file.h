// A file that appears under its name only when it is complete. Until then it is `<name>.partial`,
// which stays behind when the process is killed, and is removed when writing fails. It is locked
// while it is written: a second process that wants the same name is refused, also with kForce.
// Create() costs nothing and changes nothing at the final name, so it may stand before long work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inferprobe/result.h"

namespace inferprobe::base {

enum class Overwrite : uint8_t { kRefuse, kForce };

// What Create() would refuse: a path that exists (unless forced), a directory, a folder that is
// missing or may not be written, a name too long, a `.partial` file of another run. Devices such as
// /dev/full pass, and pipes; Create() alone can tell whether a pipe has a reader.
Result<void> CheckWritable(const std::string& path, Overwrite overwrite);

class AtomicFile {
 public:
  // kForce replaces a file and keeps its permission bits. A link to a file stays, its target is
  // replaced; a link to nothing is itself replaced.
  static Result<AtomicFile> Create(const std::string& path, Overwrite overwrite);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();  // not committed: removes the partial file

  // After an error every later call returns it again.
  Result<void> Write(std::string_view bytes);
  // Hands what was written to the kernel, so that it survives a kill of this process.
  Result<void> Flush();
  // fsync, then rename to the final name; with kRefuse a file that came to be there meanwhile is
  // not replaced.
  Result<void> Commit();
  // Closes and leaves the partial file where it is, for whoever salvages it.
  void Abandon();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& partial_path() const { return partial_; }
  [[nodiscard]] uint64_t bytes_written() const { return written_; }

 private:
  AtomicFile() = default;
  Result<void> Fail(const char* doing, int error);
  void Discard();
  void Close();

  std::string path_;    // as given
  std::string target_;  // where the file appears: of a link that stays, what it points to
  std::string partial_;
  std::string buffer_;
  Error error_;
  uint64_t written_ = 0;
  int fd_ = -1;
  int unfinished_ = -1;  // base/unfinished_files.h
  bool failed_ = false;
  bool direct_ = false;  // a device: written in place, not renamed
  Overwrite overwrite_ = Overwrite::kRefuse;
};

// Create, Write, Commit.
Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes,
                                 Overwrite overwrite);

}  // namespace inferprobe::base
