#include "raise.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace inferprobe::python {

void Raise(const Error& error) {
  const nb::object type = nb::module_::import_("inferprobe._error").attr("Error");
  const nb::object value = type(ErrorCodeName(error.code), error.message, error.hint);
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

}  // namespace inferprobe::python
