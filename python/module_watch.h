// Watches calls of PyTorch modules: while one is watched, each call of its `forward` is a cell in
// the calling thread's ring (record/layout.h, kModuleCall).
//
// What is called is the vectorcall slot of the function object that the class (or the instance) has
// as `forward`: ours while a module with that function is watched. The function stays the same
// object with the same code, so no __dict__ changes, and torch.compile, torch.export, TorchScript
// and pickle see what they always saw.
//
// The rule that people break: all of this needs the GIL, which also guards the table. A call that
// is in flight when its module is let go still finishes, into the ring that it began with.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

namespace inferprobe::python {

struct WatchedModule {
  uint32_t number = 0;        // in the cells; of the process's modules that are watched
  const char* why = nullptr;  // not nullptr: it is not watched, and this is why
};

// Watches `module`, or counts one more who does. `function` is what runs when it is called: a
// Python function. `own`: it is the instance's own and is not given the module as first argument.
// `number` and `name` (as record::InternName has it): for the cells, where nobody else watches;
// else the next one, and none. Never leaves a Python error behind.
WatchedModule WatchModule(PyObject* module, PyObject* function, bool own,
                          std::optional<uint32_t> number = {}, uint32_t name = 0);

// Takes back one WatchModule() of the same arguments that was not refused.
void UnwatchModule(PyObject* module, PyObject* function, bool own);

// Calls of watched functions with modules that nobody watches, so far in this process.
uint64_t CallsOutside();

}  // namespace inferprobe::python
