#include "measure/engine_registry.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/dynamic_library.h"
#include "base/files.h"

namespace inferprobe::measure {
namespace {

// A file format, recognised by bytes at an offset.
struct Magic {
  std::string_view engine;
  size_t offset;
  std::string_view bytes;
};
constexpr std::array kMagics = {
    Magic{"executorch", 4, "ET12"},  // flatbuffer identifier of a program
    Magic{"executorch", 4, "BP08"},  // of a bundled program
};

constexpr size_t kHeadBytes = 16;

std::string FolderOfThisLibrary() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&KnownEngines), &info) == 0) return {};
  return base::DirectoryOf(info.dli_fname);
}

}  // namespace

const std::vector<EngineInfo>& KnownEngines() {
  static const std::vector<EngineInfo> kEngines = {
      {"executorch", "ExecuTorch", "programs (.pte), bundled programs (.bpte)",
       "pip install --no-deps executorch==1.5.1"},
  };
  return kEngines;
}

Result<std::string> EngineForFile(const std::string& path) {
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  const std::string bytes(file->bytes().substr(0, kHeadBytes));
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  if (bytes.empty()) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{} is empty (0 bytes)", path));
  }
  for (const Magic& magic : kMagics) {
    if (bytes.size() >= magic.offset + magic.bytes.size() &&
        bytes.substr(magic.offset, magic.bytes.size()) == magic.bytes) {
      return std::string(magic.engine);
    }
  }
  std::string known;
  for (const EngineInfo& info : KnownEngines()) {
    known += fmt::format("{}{} {}", known.empty() ? "" : "; ", info.title, info.files);
  }
  return MakeError(
      ErrorCode::kMalformed,
      fmt::format("{} is not a model that inferprobe knows (by its bytes 4 to 7)", path),
      fmt::format("known are {}; --engine NAME skips this check", known));
}

std::vector<std::string> PluginFolders() {
  std::vector<std::string> folders;
  const auto add = [&](std::string folder) {
    if (folder.empty()) return;
    for (const std::string& known : folders) {
      if (known == folder) return;
    }
    folders.push_back(std::move(folder));
  };
  if (const char* path = std::getenv("INFERPROBE_PLUGIN_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      add(std::string(rest.substr(0, colon)));
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
  }
  const std::string program = base::DirectoryOf(base::ExecutablePath());
  add(program);
  // Built: beside both. Installed: in a folder beside the libraries, wherever the program is.
  if (const std::string libraries = FolderOfThisLibrary(); !libraries.empty()) {
    add(libraries);
    add(libraries + "/inferprobe");
  }
  add(program + "/../lib/inferprobe");
  return folders;
}

Result<std::string> FindPlugin(const std::string& engine) {
  if (engine.empty() || engine.find('/') != std::string::npos) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no engine", engine));
  }
  const std::vector<std::string> folders = PluginFolders();
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/libinferprobe_engine_{}.so", folder, engine);
    if (base::FileExists(path)) return path;
  }
  std::vector<std::string_view> names;
  for (const EngineInfo& info : KnownEngines()) {
    if (info.name == engine) {
      return MakeError(
          ErrorCode::kNotBuiltIn,
          fmt::format("the {} engine is not installed: libinferprobe_engine_{}.so is in none of {}",
                      info.title, engine, fmt::join(folders, ", ")),
          fmt::format("install the runtime and build the plugin: {}, then `make build` in "
                      "inferprobe's checkout, or `pip install .`",
                      info.install));
    }
    names.push_back(info.name);
  }
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("there is no engine \"{}\"", engine),
                   fmt::format("engines: {}", fmt::join(names, ", ")));
}

Result<EnginePlugin*> LoadPlugin(const std::string& engine) {
  static std::mutex mutex;
  static std::map<std::string, EnginePlugin*> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(engine); found != loaded.end()) return found->second;

  auto path = FindPlugin(engine);
  if (!path) return tl::unexpected(path.error());
  auto library = base::DynamicLibrary::Open(*path);
  if (!library) {
    Error error = library.error();
    for (const EngineInfo& info : KnownEngines()) {
      if (info.name == engine) error.hint = fmt::format("install its runtime: {}", info.install);
    }
    return tl::unexpected(std::move(error));
  }
  auto entry = library->Symbol(kEngineEntrySymbol);
  if (!entry) return tl::unexpected(entry.error());
  const auto* description = static_cast<const EngineEntry*>(*entry);
  if (description->abi != kEngineAbi) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{} speaks plugin interface {}, this inferprobe {}", *path,
                                 description->abi, kEngineAbi),
                     "build the command and its plugins from one checkout");
  }
  EnginePlugin* plugin = description->create();
  library->KeepForever();  // an engine's threads may outlive any session: it is never unloaded
  loaded.emplace(engine, plugin);
  return plugin;
}

}  // namespace inferprobe::measure
