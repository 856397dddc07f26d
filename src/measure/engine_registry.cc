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
#include "measure/model_name.h"

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
    // A zip. Which of PyTorch's it is, or that it is none, the engine says.
    Magic{"torch", 0, std::string_view("PK\3\4", 4)},
};

constexpr size_t kHeadBytes = 16;

struct LoadedPlugins {
  std::mutex mutex;
  std::map<std::string, EnginePlugin*> by_engine;
};
// Never destroyed: an engine's threads may outlive main().
LoadedPlugins& TheLoadedPlugins() {
  static auto* loaded = new LoadedPlugins;
  return *loaded;
}

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
      {"torch", "PyTorch",
       "modules (FILE.py:FUNCTION), AOTInductor packages (.pt2), TorchScript (.pt)",
       "pip install torch, and inferprobe's Python package beside it: `pip install .[torch]` in "
       "inferprobe's checkout",
       /*in_python=*/true},
  };
  return kEngines;
}

const EngineInfo* KnownEngine(std::string_view name) {
  for (const EngineInfo& info : KnownEngines()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

Result<std::string> EngineForFile(const std::string& path) {
  if (const ModelName name = SplitModelName(path); name.python) {
    INFERPROBE_RETURN_IF_ERROR(base::CheckReadableFile(name.file));
    if (!name.factory.empty()) return std::string("torch");
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} names a file of Python, and no function in it that makes a "
                                 "model",
                                 path),
                     fmt::format("say which, behind a colon: {}:make_model", name.file));
  }
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
      fmt::format("{} is not a model that inferprobe knows (by its first bytes)", path),
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
  const EngineInfo* known = KnownEngine(engine);
  if (known != nullptr && known->in_python) {
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("{} runs in Python alone, and this process is another", known->title),
        "`inferprobe perf`, or inferprobe.run in Python, starts one");
  }
  const std::vector<std::string> folders = PluginFolders();
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/libinferprobe_engine_{}.so", folder, engine);
    if (base::FileExists(path)) return path;
  }
  if (known != nullptr) {
    return MakeError(
        ErrorCode::kNotBuiltIn,
        fmt::format("the {} engine is not installed: libinferprobe_engine_{}.so is in none of {}",
                    known->title, engine, fmt::join(folders, ", ")),
        fmt::format("install the runtime and build the plugin: {}, then `make build` in "
                    "inferprobe's checkout, or `pip install .`",
                    known->install));
  }
  std::vector<std::string_view> names;
  for (const EngineInfo& info : KnownEngines()) names.push_back(info.name);
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("there is no engine \"{}\"", engine),
                   fmt::format("engines: {}", fmt::join(names, ", ")));
}

void RegisterPlugin(const std::string& engine, EnginePlugin* plugin) {
  LoadedPlugins& loaded = TheLoadedPlugins();
  const std::lock_guard lock(loaded.mutex);
  loaded.by_engine[engine] = plugin;
}

Result<EnginePlugin*> LoadPlugin(const std::string& engine) {
  LoadedPlugins& loaded = TheLoadedPlugins();
  const std::lock_guard lock(loaded.mutex);
  const auto found = loaded.by_engine.find(engine);
  if (found != loaded.by_engine.end()) return found->second;

  auto path = FindPlugin(engine);
  if (!path) return tl::unexpected(path.error());
  auto library = base::DynamicLibrary::Open(*path);
  if (!library) {
    Error error = library.error();
    if (const EngineInfo* info = KnownEngine(engine)) {
      error.hint = fmt::format("install its runtime: {}", info->install);
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
  loaded.by_engine.emplace(engine, plugin);
  return plugin;
}

}  // namespace inferprobe::measure
