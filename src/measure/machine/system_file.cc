#include "measure/machine/system_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "base/files.h"
#include "base/owned_fd.h"

namespace inferprobe::measure {

using profile::Metric;
using profile::Missing;
using profile::Status;

Missing MissingFromErrno(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
      return {Status::kUnsupported, fmt::format("no {} here", path)};
    case EOPNOTSUPP:  // what pressure files say on a kernel started with psi=0
      return {Status::kUnsupported, fmt::format("the kernel has {} switched off", path)};
    case EACCES:
    case EPERM:
      return {Status::kPermissionDenied, fmt::format("{} may not be read", path)};
    default:
      return {Status::kUnavailable, fmt::format("{}: {}", path, base::SystemErrorText(error))};
  }
}

Metric<std::string> ReadSystemFile(const SystemRoot& root, const std::string& path) {
  constexpr size_t kLimit = size_t{1} << 20;
  const base::OwnedFd fd(open(root.Path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return MissingFromErrno(path, errno);
  std::string text;
  while (text.size() < kLimit) {
    const size_t have = text.size();
    text.resize(have + 8192);
    const ssize_t n = read(fd.get(), text.data() + have, 8192);
    const int error = errno;
    text.resize(have + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0) break;
    if (n < 0 && error != EINTR) return MissingFromErrno(path, error);
  }
  return text;
}

}  // namespace inferprobe::measure
