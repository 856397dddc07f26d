// The watch on modules, the recording and its results as Python sees them. What is chosen, when it
// begins and how it is shown is decided in python/inferprobe/_profile.py.
#include "bind_profile.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/result_json/result_json.h"
#include "module_events.h"
#include "module_watch.h"
#include "raise.h"
#include "recording.h"

namespace nb = nanobind;

namespace inferprobe::python {
namespace {

using StatusPair = std::pair<std::string, std::string>;  // why ("": recorded), hint

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

// A Recorded of _torch_profiler.py; its arrays stay as they are while this lives.
struct Columns {
  OperatorColumns columns;
  std::vector<nb::object> held;

  explicit Columns(const nb::object& recorded) {
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
};

profile::Metric<bool> MetricOf(const StatusPair& status) {
  if (status.first.empty()) return true;
  for (const Status one : {Status::kNotRequested, Status::kUnsupported, Status::kUnavailable}) {
    if (status.first == StatusName(one)) return {one, status.second};
  }
  return {Status::kNotMeasured, status.second};
}

profile::Module ModuleOf(const nb::handle& entry) {
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

std::unique_ptr<ModuleRecording> StartRecording(uint32_t capacity) {
  auto recording = ModuleRecording::Start(capacity);
  if (!recording) Raise(recording.error());
  return *std::move(recording);
}

std::unique_ptr<ModuleProfile> Make(const ModuleRecording& recording, const Window& window,
                                    const nb::list& tree, const std::string& torch_version,
                                    const std::optional<int64_t>& threads,
                                    const StatusPair& operators, const StatusPair& memory,
                                    const StatusPair& device,
                                    const std::vector<StatusPair>& not_covered,
                                    const nb::object& recorded) {
  ProfileRequest request;
  profile::ModuleFacts& facts = request.model.modules;
  for (const nb::handle entry : tree) {
    facts.tree.push_back(ModuleOf(entry));
    const auto number = nb::cast<int64_t>(entry.attr("number"));
    request.numbers.push_back(number < 0 ? kNotWatched : static_cast<uint32_t>(number));
  }
  facts.operators = MetricOf(operators);
  facts.memory = MetricOf(memory);
  facts.device = MetricOf(device);
  for (const auto& [what, why] : not_covered) facts.not_covered.push_back({what, why});
  request.model.path = facts.tree.front().class_name;
  request.model.format = "pytorch";
  request.model.method = "forward";
  request.engine.name = "torch";
  request.engine.title = "PyTorch";
  request.engine.version = torch_version;
  if (threads) request.engine.threads = *threads;

  std::optional<Columns> columns;
  if (!recorded.is_none()) columns.emplace(recorded);
  if (columns) request.operators = &columns->columns;
  return std::make_unique<ModuleProfile>(recording.Make(window, std::move(request)));
}

nb::dict EventsAsDict(const ModuleProfile& profile) {
  const auto modules = static_cast<uint32_t>(profile.recording.model.modules.tree.size());
  const ModuleEvents events = EventsOf(profile.recording.profile, modules);
  nb::dict columns;
  columns["module"] = events.module;
  columns["call"] = events.call;
  columns["name"] = events.name;
  columns["depth"] = events.depth;
  columns["start_ns"] = events.start_ns;
  columns["dur_ns"] = events.dur_ns;
  columns["self_ns"] = events.self_ns;
  columns["thread_id"] = events.thread_id;
  columns["bytes"] = events.bytes;
  columns["names"] = events.names;
  columns["calls"] = events.calls;
  return columns;
}

// The number of the module in the cells, or why it is not watched.
std::pair<int64_t, std::string> Watch(const nb::object& module, const nb::object& function,
                                      bool own) {
  const WatchedModule watched = WatchModule(module.ptr(), function.ptr(), own);
  if (watched.why != nullptr) return {-1, watched.why};
  return {watched.number, ""};
}

}  // namespace

void BindProfile(nb::module_& module) {
  module.def("watch_module", &Watch, nb::arg("module"), nb::arg("function"), nb::arg("own"));
  module.def("unwatch_module", [](const nb::object& watched, const nb::object& function, bool own) {
    UnwatchModule(watched.ptr(), function.ptr(), own);
  });
  [[maybe_unused]] const nb::class_<Window> window(module, "Window");
  nb::class_<ModuleProfile>(module, "ModuleProfile")
      .def("json",
           [](const ModuleProfile& made) { return result_json::WriteResultJson(made.result); })
      .def("text", &ModuleProfile::Text, nb::arg("show_events"))
      .def("save_trace",
           [](const ModuleProfile& made, const std::string& path, bool force) {
             if (auto saved = made.SaveTrace(path, force); !saved) Raise(saved.error());
           })
      .def("events", &EventsAsDict);
  nb::class_<ModuleRecording>(module, "ModuleRecording")
      .def("open", &ModuleRecording::Open)
      .def("close", [](ModuleRecording& recording, Window& window) { recording.Close(&window); })
      .def("called", &ModuleRecording::Called)
      .def("stop", &ModuleRecording::Stop);
  module.def("start_recording", &StartRecording, nb::arg("capacity"));
  module.def("make_profile", &Make, nb::kw_only(), nb::arg("recording"), nb::arg("window"),
             nb::arg("tree"), nb::arg("torch_version"), nb::arg("threads").none(),
             nb::arg("operators"), nb::arg("memory"), nb::arg("device"), nb::arg("not_covered"),
             nb::arg("recorded").none());
}

}  // namespace inferprobe::python
