// A folder that stands in for / in tests of what reads /proc, /sys and /etc.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "measure/machine/system_file.h"

namespace inferprobe::measure {

class FakeSystem {
 public:
  // A test may step down from root to see a refusal: everybody may look in.
  FakeSystem() { std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755)); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = folder_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary | std::ios::trunc) << text;
  }
  void Forbid(const std::string& path) const { chmod((folder_.path() + path).c_str(), 0); }

  [[nodiscard]] SystemRoot root() const { return {folder_.path()}; }

 private:
  base::TemporaryFolder folder_;
};

}  // namespace inferprobe::measure
