// The part of inferprobe._core under `inferprobe.profile`.
#pragma once

#include <nanobind/nanobind.h>

namespace inferprobe::python {

void BindProfile(nanobind::module_& module);

}  // namespace inferprobe::python
