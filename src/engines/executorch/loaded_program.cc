#include "engines/executorch/loaded_program.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>

#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"

namespace inferprobe::executorch_engine {

namespace et = ::executorch::runtime;
namespace ext = ::executorch::extension;

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(const ProgramTables& tables) {
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram);
  ClearLog();
  if (tables.bundle() != nullptr) {
    const std::string_view bytes = tables.program_bytes();
    loaded->loader_ = std::make_unique<ext::BufferDataLoader>(bytes.data(), bytes.size());
  } else {
    // Not locked into memory: containers rarely allow it.
    auto mapped =
        ext::MmapDataLoader::from(tables.path().c_str(), ext::MmapDataLoader::MlockConfig::NoMlock);
    if (!mapped.ok()) {
      return tl::unexpected(EngineError("cannot map " + tables.path(), mapped.error()));
    }
    loaded->loader_ = std::make_unique<ext::MmapDataLoader>(std::move(*mapped));
  }
  auto program =
      et::Program::load(loaded->loader_.get(), et::Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return tl::unexpected(EngineError("cannot load " + tables.path(), program.error()));
  }
  loaded->program_.emplace(std::move(*program));
  return loaded;
}

}  // namespace inferprobe::executorch_engine
