#include "engines/executorch/openvino/openvino_api.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/dynamic_library.h"
#include "engines/executorch/openvino/openvino_search.h"

namespace inferprobe::openvino {
namespace {

constexpr const char* kHint =
    "pip install openvino==2026.4.1, or set OPENVINO_LIB_PATH to the folder of its "
    "libopenvino_c.so";

Result<OpenvinoApi> Search() {
  const std::vector<SearchPlace> places =
      OpenvinoPlaces(std::getenv("OPENVINO_LIB_PATH"), PathOfLoadedLibrary("libexecutorch.so"),
                     PathOfAddress(reinterpret_cast<const void*>(&OpenOpenvino)));
  std::string tried;
  for (const SearchPlace& place : places) {
    tried += fmt::format("\n  {}", place.name);
    if (place.libraries.empty()) tried += ": there is none";
    const char* separator = ": ";
    for (const std::string& library : place.libraries) {
      auto api = OpenOpenvino(library);
      if (api) return api;
      tried += std::exchange(separator, "; ") + api.error().message;
    }
  }
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("OpenVINO's C library was not found; looked at:{}", tried), kHint);
}

const Result<OpenvinoApi>& Loaded() {
  static const Result<OpenvinoApi> api = Search();
  return api;
}

}  // namespace

Result<OpenvinoApi> OpenOpenvino(const std::string& library) {
  auto opened = base::DynamicLibrary::Open(library);
  if (!opened) return tl::unexpected(opened.error());
  OpenvinoApi api;
#define INFERPROBE_OPENVINO_LOAD(name, symbol, ...)                         \
  {                                                                         \
    const auto address = opened->Symbol(#symbol);                           \
    if (!address) return tl::unexpected(address.error());                   \
    api.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(*address); \
  }
  INFERPROBE_OPENVINO_FUNCTIONS(INFERPROBE_OPENVINO_LOAD)
#undef INFERPROBE_OPENVINO_LOAD
  Version version;
  if (api.get_openvino_version(&version) == kOk) {
    if (version.build_number != nullptr) api.version = version.build_number;
    api.version_free(&version);
  }
  // A bare name says nothing: the file that the loader took for it does.
  const std::string path = PathOfAddress(reinterpret_cast<const void*>(api.core_create));
  api.library = path.empty() ? library : path;
  opened->KeepForever();
  return api;
}

Result<const OpenvinoApi*> LoadOpenvino() {
  const Result<OpenvinoApi>& api = Loaded();
  if (!api) return tl::unexpected(api.error());
  return &*api;
}

std::string OpenvinoLibraryPath() {
  const Result<OpenvinoApi>& api = Loaded();
  return api ? api->library : "";
}

}  // namespace inferprobe::openvino
