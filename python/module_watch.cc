#include "module_watch.h"

#include <unordered_map>

#include "record/ring_writer.h"
#include "watch_table.h"

namespace inferprobe::python {
namespace {

WatchTable g_modules;
uint32_t g_next_number = 0;
uint64_t g_calls_outside = 0;
vectorcallfunc g_original = nullptr;  // the interpreter's, the same for all Python functions
struct FunctionUse {
  uint32_t modules = 0;        // entries of g_modules that have this function
  PyObject* own_of = nullptr;  // the one module that it is the own function of
};
std::unordered_map<PyObject*, FunctionUse> g_functions;  // the key is a strong reference

// In the place of the interpreter's own way to call a Python function. Own: the function is one
// module's, whatever its arguments are; otherwise the module is the first of them.
template <bool Own>
PyObject* CallWatched(PyObject* function, PyObject* const* args, size_t count_and_flag,
                      PyObject* names) {
  const void* key = function;
  if constexpr (!Own) key = PyVectorcall_NARGS(count_and_flag) > 0 ? args[0] : nullptr;
  const WatchTable::Entry* entry = g_modules.Find(key);
  // Of a subclass that calls this by super(): its own forward is the call.
  const bool watched = entry != nullptr && entry->function == function;
  record::ThreadRing* ring = watched ? record::AttachThread() : nullptr;
  if (ring == nullptr) [[unlikely]] {
    if (entry == nullptr) ++g_calls_outside;
    return g_original(function, args, count_and_flag, names);
  }
  const uint32_t number = entry->number;  // the table may change during the call
  const uint32_t name = entry->name;
  const record::OpenedSlice slice = record::OpenSlice(ring);
  const uint64_t start = NowTicks();
  PyObject* result = g_original(function, args, count_and_flag, names);
  const uint64_t end = NowTicks();
  record::CloseSlice(ring, slice);
  const uint32_t raised = result == nullptr ? record::kModuleRaised : 0;
  record::Publish(ring, {start, end, name, slice.id, slice.parent,
                         record::PackInfo(record::CellType::kModuleCall, number | raised)});
  return result;
}

vectorcallfunc SlotOf(PyObject* function) {
  return reinterpret_cast<PyFunctionObject*>(function)->vectorcall;
}

void SetSlot(PyObject* function, vectorcallfunc slot) {
  auto* object = reinterpret_cast<PyFunctionObject*>(function);
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(object, slot);
#else
  object->func_version = 0;  // calls that the interpreter has specialised for it look anew
  object->vectorcall = slot;
#endif
}

// The interpreter does not export it in all versions: a fresh function has it.
vectorcallfunc OriginalSlot(PyObject* function) {
  PyObject* fresh = PyFunction_New(PyFunction_GET_CODE(function), PyFunction_GET_GLOBALS(function));
  if (fresh == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const vectorcallfunc slot = SlotOf(fresh);
  Py_DECREF(fresh);
  return slot;
}

const char* WhyNotFunction(PyObject* function) {
  if (!PyFunction_Check(function)) return "its forward is no Python function";
  const int flags = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))->co_flags;
  if ((flags & CO_COROUTINE) != 0) return "its forward is a coroutine: a call only makes one";
  if ((flags & CO_ASYNC_GENERATOR) != 0) {
    return "its forward is an async generator: a call only makes one";
  }
  if ((flags & CO_GENERATOR) != 0) return "its forward is a generator: a call only makes one";
  return nullptr;
}

// Ours into the function's slot, if it is not there; or why that cannot be.
const char* Take(PyObject* function, vectorcallfunc ours) {
  if (g_original == nullptr) g_original = OriginalSlot(function);
  if (g_original == nullptr) return "out of memory";
  const vectorcallfunc slot = SlotOf(function);
  if (slot == ours) return nullptr;
  if (slot == CallWatched<true> || slot == CallWatched<false>) {
    return "its forward is a class's method, and the own function of a module, too";
  }
  if (slot != g_original) return "somebody else watches calls of its forward";
  SetSlot(function, ours);
  return nullptr;
}

}  // namespace

WatchedModule WatchModule(PyObject* module, PyObject* function, bool own,
                          std::optional<uint32_t> number, uint32_t name) {
  if (const char* why = WhyNotFunction(function)) return {0, why};
  PyObject* key = own ? function : module;
  const WatchTable::Entry* known = g_modules.Find(key);
  if (known != nullptr) {
    if (known->function != function) return {0, "its forward was exchanged while it was watched"};
    if (own && g_functions[function].own_of != module) {
      return {0, "another module has the same function as its own forward"};
    }
    return {g_modules.Add(key, function, 0).number, nullptr};
  }
  if (number.value_or(g_next_number) >= record::kMostModules)
    return {0, "too many modules are watched"};
  if (const char* why = Take(function, own ? CallWatched<true> : CallWatched<false>)) {
    return {0, why};
  }
  Py_INCREF(module);
  FunctionUse& use = g_functions[function];
  if (use.modules++ == 0) Py_INCREF(function);
  if (own) use.own_of = module;
  return {g_modules.Add(key, function, number ? *number : g_next_number++, name).number, nullptr};
}

void UnwatchModule(PyObject* module, PyObject* function, bool own) {
  if (!g_modules.Remove(own ? function : module)) return;
  if (g_modules.size() == 0) g_next_number = 0;
  const auto users = g_functions.find(function);
  const bool last = --users->second.modules == 0;
  if (last) {
    g_functions.erase(users);
    // Who took it meanwhile keeps it, and calls ours, which then only passes on.
    const vectorcallfunc slot = SlotOf(function);
    if (slot == CallWatched<true> || slot == CallWatched<false>) SetSlot(function, g_original);
  }
  // Last: what these free may run any code.
  if (last) Py_DECREF(function);
  Py_DECREF(module);
}

uint64_t CallsOutside() { return g_calls_outside; }

}  // namespace inferprobe::python
