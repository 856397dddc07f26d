// An error of the runtime in inferprobe's words.
#pragma once

#include <executorch/runtime/core/error.h>

#include <string_view>

#include "inferprobe/result.h"

namespace inferprobe::executorch_engine {

// "DOING: ExecuTorch answered InvalidProgram (0x23): what its log said". Takes the log.
Error EngineError(std::string_view doing, ::executorch::runtime::Error error);

}  // namespace inferprobe::executorch_engine
