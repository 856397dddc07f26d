// What Python hands over about a model of PyTorch: its tree of modules, what torch's own profiler
// recorded, and whether each was recorded at all.
//
// The rule that people break: columns are not copied. They stay as they are only while Columns
// lives.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "profile/metric.h"
#include "profile/modules.h"
#include "recording.h"

namespace inferprobe::python {

using StatusPair = std::pair<std::string, std::string>;  // why ("": recorded), hint
profile::Metric<bool> MetricOf(const StatusPair& status);

// A Node of inferprobe/_module_tree.py.
profile::Module ModuleOf(nanobind::handle entry);

// A Recorded of inferprobe/_torch_profiler.py.
struct Columns {
  explicit Columns(const nanobind::object& recorded);

  OperatorColumns columns;
  std::vector<nanobind::object> held;
};

}  // namespace inferprobe::python
