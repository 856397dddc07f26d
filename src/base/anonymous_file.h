// A file without a name that other processes of the same user reach by a path: it goes with the
// last of them, also when that is killed.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/files.h"
#include "base/owned_fd.h"
#include "inferprobe/result.h"

namespace inferprobe::base {

class AnonymousFile {
 public:
  // `name` is shown in /proc/PID/fd.
  static Result<AnonymousFile> Create(const char* name) {
    AnonymousFile file;
    file.fd_.Reset(memfd_create(name, MFD_CLOEXEC));
    if (file.fd_.valid()) return file;
    return MakeError(ErrorCode::kIo, "cannot create a file in memory: " + SystemErrorText(errno));
  }

  // While this object lives.
  [[nodiscard]] std::string path() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
  }

 private:
  AnonymousFile() = default;

  OwnedFd fd_;
};

}  // namespace inferprobe::base
