#include "from_python.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>

namespace nb = nanobind;

namespace inferprobe::python {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

template <class T>
std::span<const T> SpanOf(const nb::object& columns, const char* name,
                          std::vector<nb::object>* held) {
  const nb::object column = columns.attr(name);
  auto array = nb::cast<Column<T>>(column);
  held->push_back(nb::cast(array));
  return {array.data(), array.size()};
}

}  // namespace

Columns::Columns(const nb::object& recorded) {
  columns.names = nb::cast<std::vector<std::string>>(recorded.attr("names"));
  const nb::object operators = recorded.attr("operators");
  columns.start_ns = SpanOf<int64_t>(operators, "start_ns", &held);
  columns.end_ns = SpanOf<int64_t>(operators, "end_ns", &held);
  columns.name = SpanOf<uint32_t>(operators, "name", &held);
  columns.thread_id = SpanOf<int64_t>(operators, "thread_id", &held);
  const nb::object allocations = recorded.attr("allocations");
  columns.allocation_ns = SpanOf<int64_t>(allocations, "time_ns", &held);
  columns.allocation_bytes = SpanOf<int64_t>(allocations, "bytes", &held);
  columns.allocation_thread = SpanOf<int64_t>(allocations, "thread_id", &held);
  columns.allocation_device = SpanOf<int8_t>(allocations, "device", &held);
  const nb::object work = recorded.attr("device_work");
  columns.work_start_ns = SpanOf<int64_t>(work, "start_ns", &held);
  columns.work_end_ns = SpanOf<int64_t>(work, "end_ns", &held);
  columns.work_name = SpanOf<uint32_t>(work, "name", &held);
  columns.work_stream = SpanOf<uint32_t>(work, "stream", &held);
  columns.work_operator = SpanOf<uint32_t>(work, "operator", &held);
  columns.pairs = SpanOf<int64_t>(recorded, "pairs", &held);
}

profile::Metric<bool> MetricOf(const StatusPair& status) {
  if (status.first.empty()) return true;
  for (const Status one : {Status::kNotRequested, Status::kUnsupported, Status::kUnavailable}) {
    if (status.first == StatusName(one)) return {one, status.second};
  }
  return {Status::kNotMeasured, status.second};
}

profile::Module ModuleOf(nb::handle entry) {
  profile::Module module;
  module.path = nb::cast<std::string>(entry.attr("path"));
  module.also = nb::cast<std::vector<std::string>>(entry.attr("also"));
  module.class_name = nb::cast<std::string>(entry.attr("class_name"));
  const auto parent = nb::cast<int64_t>(entry.attr("parent"));
  module.parent = parent < 0 ? profile::kNone : static_cast<uint32_t>(parent);
  module.parameters = nb::cast<uint64_t>(entry.attr("parameters"));
  module.chosen = nb::cast<bool>(entry.attr("chosen"));
  module.not_covered = nb::cast<std::string>(entry.attr("not_covered"));
  return module;
}

}  // namespace inferprobe::python
