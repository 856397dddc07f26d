#include "engines/executorch/openvino/openvino_search.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace inferprobe::openvino {
namespace {

constexpr std::string_view kLibrary = "libopenvino_c.so";

// The numbers after ".so": 2641, or 2026 4 1.
std::vector<uint64_t> VersionOf(std::string_view name) {
  std::vector<uint64_t> version;
  bool in_number = false;
  for (const char c : name.substr(kLibrary.size())) {
    if (c < '0' || c > '9') {
      in_number = false;
      continue;
    }
    if (!in_number) version.push_back(0);
    in_number = true;
    version.back() = version.back() * 10 + static_cast<uint64_t>(c - '0');
  }
  return version;
}

std::vector<std::string> LibrariesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (std::string& name : base::ListDirectory(folder)) {
    if (name.starts_with(kLibrary)) names.push_back(std::move(name));
  }
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return VersionOf(a) > VersionOf(b);
  });
  for (std::string& name : names) name.insert(0, folder + "/");
  return names;
}

// site-packages/PACKAGE/lib/library.so: its neighbour openvino has the libraries in libs.
SearchPlace Beside(std::string_view whose, const std::string& library) {
  if (library.empty()) return {fmt::format("beside {} (not loaded)", whose), {}};
  const std::string package = base::DirectoryOf(base::DirectoryOf(library));
  const std::string folder = base::DirectoryOf(package) + "/openvino/libs";
  return {fmt::format("beside {} ({})", whose, folder), LibrariesIn(folder)};
}

}  // namespace

std::vector<SearchPlace> OpenvinoPlaces(const char* environment,
                                        const std::string& executorch_library,
                                        const std::string& own_library) {
  if (environment != nullptr && *environment != '\0') {
    std::string path = environment;
    std::vector<std::string> libraries = LibrariesIn(path);
    if (libraries.empty()) libraries = {path};
    return {{fmt::format("OPENVINO_LIB_PATH ({})", path), std::move(libraries)}};
  }
  return {Beside("the executorch package", executorch_library),
          Beside("inferprobe's package", own_library),
          // Debian's package without the one for development has only the name with a version.
          {"where the loader looks (libopenvino_c.so)",
           {std::string(kLibrary), std::string(kLibrary) + ".2641"}}};
}

std::string PathOfLoadedLibrary(const char* name) {
  void* handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return "";
  link_map* map = nullptr;
  std::string path;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr)
    path = map->l_name;
  dlclose(handle);
  // The loader keeps the dots of a search path: "…/share/cmake/../../lib/…".
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

std::string PathOfAddress(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace inferprobe::openvino
