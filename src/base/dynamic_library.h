// A shared library opened at run time, with errors as values.
//
// Opened RTLD_NOW | RTLD_LOCAL and never RTLD_DEEPBIND: with DEEPBIND a plugin's calls would not
// reach the hooks that the executable exports, and nothing would say so.
#pragma once

#include <string>

#include "inferprobe/result.h"

namespace inferprobe::base {

class DynamicLibrary {
 public:
  static Result<DynamicLibrary> Open(const std::string& path);
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();  // closes, unless KeepForever() was called

  // The address of a symbol; kNotFound names the library and the symbol.
  [[nodiscard]] Result<void*> Symbol(const std::string& name) const;
  // For libraries whose threads, thread-local data or registrations do not survive dlclose.
  void KeepForever() { keep_ = true; }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  DynamicLibrary() = default;
  void Close();

  std::string path_;
  void* handle_ = nullptr;
  bool keep_ = false;
};

}  // namespace inferprobe::base
