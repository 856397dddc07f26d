#include "engines/executorch/data_files.h"

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>

#include <deque>
#include <optional>

#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/program_tables.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
namespace ext = ::executorch::extension;

}  // namespace

struct DataFiles::State {
  std::deque<ext::MmapDataLoader> loaders;
  std::deque<ext::FlatTensorDataMap> maps;
  std::optional<ext::merged_data_map::MergedDataMap> merged;
};

DataFiles::DataFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
DataFiles::~DataFiles() = default;

Result<std::unique_ptr<DataFiles>> DataFiles::Open(const std::vector<std::string>& paths) {
  auto state = std::make_unique<State>();
  std::vector<const et::NamedDataMap*> maps;
  for (const std::string& path : paths) {
    INFERPROBE_RETURN_IF_ERROR(VerifyDataFile(path));
    ClearLog();
    auto loader =
        ext::MmapDataLoader::from(path.c_str(), ext::MmapDataLoader::MlockConfig::NoMlock);
    if (!loader.ok()) return tl::unexpected(EngineError("cannot map " + path, loader.error()));
    state->loaders.push_back(std::move(*loader));
    auto map = ext::FlatTensorDataMap::load(&state->loaders.back());
    if (!map.ok()) return tl::unexpected(EngineError("cannot load " + path, map.error()));
    state->maps.push_back(std::move(*map));
    maps.push_back(&state->maps.back());
  }
  if (maps.size() > 1) {
    ClearLog();
    auto merged = ext::merged_data_map::MergedDataMap::load({maps.data(), maps.size()});
    if (!merged.ok()) {
      return tl::unexpected(EngineError("cannot use the data files together", merged.error()));
    }
    state->merged.emplace(std::move(*merged));
  }
  return std::unique_ptr<DataFiles>(new DataFiles(std::move(state)));
}

const et::NamedDataMap* DataFiles::map() const {
  if (state_->merged) return &*state_->merged;
  return state_->maps.empty() ? nullptr : &state_->maps.front();
}

}  // namespace inferprobe::executorch_engine
