// An Error of the C++ side as the package's one exception.
#pragma once

#include "inferprobe/result.h"

namespace inferprobe::python {

// Throws nanobind's exception that becomes inferprobe.Error; for functions that nanobind binds.
[[noreturn]] void Raise(const Error& error);

}  // namespace inferprobe::python
