// A worker whose engine is written in Python: what measure/ calls, and how that calls Python.
//
// The rule that people break: the interpreter's lock is held for the worker's whole life, as in a
// program that calls its model in a loop. So nothing in a run waits for it.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inferprobe::python {

// Serves the parent's plan with `plugin` (inferprobe/_torch_engine.py) as engine "torch". Returns
// the process's exit code.
int RunPythonWorker(nanobind::object plugin);

// Type and shape of what a .npy file holds; nullopt: it cannot be read.
std::optional<std::pair<std::string, std::vector<int64_t>>> NpySpec(const std::string& path);

}  // namespace inferprobe::python
