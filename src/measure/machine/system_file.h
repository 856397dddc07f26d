// Files of /proc and /sys, read as they must be (their size is not known beforehand), below a root
// folder that tests replace.
#pragma once

#include <string>

#include "profile/metric.h"

namespace inferprobe::measure {

// What /proc, /sys and /etc lie under: "" is this machine.
struct SystemRoot {
  std::string prefix;
  [[nodiscard]] std::string Path(const std::string& path) const { return prefix + path; }
};

// The status that belongs to an errno of opening or reading such a file: a file that is not there
// is `unsupported`, not zero.
profile::Missing MissingFromErrno(const std::string& path, int error);

// The file's text, at most 1 MB of it.
profile::Metric<std::string> ReadSystemFile(const SystemRoot& root, const std::string& path);

}  // namespace inferprobe::measure
