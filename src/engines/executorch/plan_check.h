// Whether a method's plan can be followed: every index in it leads to something. The runtime's own
// verification ends at the flatbuffer; a wrong index makes it abort, or read beyond its tables.
#pragma once

#include <string>

#include "engines/executorch/program_tables.h"
#include "inferprobe/result.h"

namespace inferprobe::executorch_engine {

// Not checked, because a program does not say it: whether an operator gets arguments of the kinds
// that its kernel takes. ExecuTorch aborts where one does not.
Result<void> CheckPlanIndices(const std::string& path,
                              const executorch_flatbuffer::Program& program,
                              const executorch_flatbuffer::ExecutionPlan& plan);

}  // namespace inferprobe::executorch_engine
