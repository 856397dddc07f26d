// Inputs and expected outputs that a bundled program (.bpte) carries for a method.
#pragma once

#include <string>
#include <vector>

#include "engines/executorch/program_tables.h"
#include "measure/engine.h"

namespace inferprobe::executorch_engine {

// Cases with a value that ours cannot hold are left out.
std::vector<measure::BundledCase> ReadBundledCases(const ProgramTables& file,
                                                   const std::string& method);

}  // namespace inferprobe::executorch_engine
