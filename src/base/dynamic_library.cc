#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/files.h"

namespace inferprobe::base {

Result<DynamicLibrary> DynamicLibrary::Open(const std::string& path) {
  // dlopen would search the library path for a bare name, and open the program itself for "".
  if (path.find('/') != std::string::npos && !FileExists(path)) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{} does not exist", path));
  }
  if (path.empty()) return MakeError(ErrorCode::kInvalidArgument, "the library's path is empty");
  dlerror();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("cannot load {}: {}", path, why != nullptr ? why : "unknown"));
  }
  DynamicLibrary library;
  library.path_ = path;
  library.handle_ = handle;
  return library;
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, nullptr)),
      keep_(other.keep_) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  if (this == &other) return *this;
  Close();
  path_ = std::move(other.path_);
  handle_ = std::exchange(other.handle_, nullptr);
  keep_ = other.keep_;
  return *this;
}

DynamicLibrary::~DynamicLibrary() { Close(); }

void DynamicLibrary::Close() {
  if (handle_ != nullptr && !keep_) dlclose(handle_);
  handle_ = nullptr;
}

Result<void*> DynamicLibrary::Symbol(const std::string& name) const {
  dlerror();
  void* address = dlsym(handle_, name.c_str());
  const char* why = dlerror();
  if (why != nullptr || address == nullptr) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{} has no symbol {}", path_, name));
  }
  return address;
}

}  // namespace inferprobe::base
