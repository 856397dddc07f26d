// A program as the runtime has it.
#pragma once

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/executor/program.h>

#include <memory>
#include <optional>

#include "engines/executorch/program_tables.h"
#include "inferprobe/result.h"

namespace inferprobe::executorch_engine {

// `tables` outlives it, and it outlives the methods that are loaded from it.
class LoadedProgram {
 public:
  static Result<std::unique_ptr<LoadedProgram>> Load(const ProgramTables& tables);

  [[nodiscard]] const ::executorch::runtime::Program& program() const { return *program_; }

 private:
  LoadedProgram() = default;
  std::unique_ptr<::executorch::runtime::DataLoader> loader_;
  std::optional<::executorch::runtime::Program> program_;
};

}  // namespace inferprobe::executorch_engine
