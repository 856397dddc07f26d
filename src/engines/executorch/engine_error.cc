#include "engines/executorch/engine_error.h"

#include <fmt/format.h>

#include "engines/executorch/log_capture.h"

namespace inferprobe::executorch_engine {

Error EngineError(std::string_view doing, ::executorch::runtime::Error error) {
  const std::string said = TakeLog();
  return Error{ErrorCode::kEngine,
               fmt::format("{}: ExecuTorch answered {} (0x{:x}){}{}", doing,
                           ::executorch::runtime::to_string(error), static_cast<unsigned>(error),
                           said.empty() ? "" : ": ", said),
               {}};
}

}  // namespace inferprobe::executorch_engine
