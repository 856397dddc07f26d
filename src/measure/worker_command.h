// How a worker process is started: this program, or, for an engine that lives in Python,
// `python -m inferprobe worker` of a Python that has both inferprobe and the engine's framework.
//
//   auto command = WorkerCommandFor("torch", "", "");
//   if (!command) { /* "no Python with inferprobe and torch was found: ..." */ }
//
// The rule that people break: the Python in PATH is not the one that inferprobe was installed into.
// What is started has been asked first; whoever names one (INFERPROBE_PYTHON, or `python`) gets
// that one or an error.
#pragma once

#include <string>
#include <vector>

#include "inferprobe/result.h"

namespace inferprobe::measure {

struct WorkerCommand {
  std::string program;
  std::vector<std::string> args;
};

// `program`: what this process's own workers are, "": this program. `python`: "": that of
// INFERPROBE_PYTHON, else the first one that has what is needed.
Result<WorkerCommand> WorkerCommandFor(const std::string& engine, const std::string& program,
                                       const std::string& python);

}  // namespace inferprobe::measure
