// The watch on modules, the recording and its results as Python sees them. What is chosen, when it
// begins and how it is shown is decided in python/inferprobe/_profile.py.
#include "bind_profile.h"

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

#include "base/atomic_file.h"
#include "formats/result_json/result_json.h"
#include "from_python.h"
#include "module_events.h"
#include "module_watch.h"
#include "raise.h"
#include "record/ring_writer.h"
#include "recording.h"

namespace nb = nanobind;

namespace inferprobe::python {
namespace {

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
  if (columns) {
    request.operators = &columns->columns;
    const auto thread = nb::cast<int64_t>(recorded.attr("thread_id"));
    facts.seen_thread = thread < 0 ? profile::ModuleFacts::kAllThreads : thread;
  }
  // Other threads go on meanwhile: what it reads is Python's no more, or held by `columns`.
  const nb::gil_scoped_release released;
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
  columns["device_bytes"] = events.device_bytes;
  columns["names"] = events.names;
  columns["calls"] = events.calls;
  return columns;
}

// The number of the module in the cells, or why it is not watched.
std::pair<int64_t, std::string> Watch(const nb::object& module, const nb::object& function,
                                      bool own, std::optional<uint32_t> number,
                                      const std::string& name) {
  const WatchedModule watched =
      WatchModule(module.ptr(), function.ptr(), own, number, record::InternName(name));
  if (watched.why != nullptr) return {-1, watched.why};
  return {watched.number, ""};
}

}  // namespace

void BindProfile(nb::module_& module) {
  module.def("watch_module", &Watch, nb::arg("module"), nb::arg("function"), nb::arg("own"),
             nb::arg("number").none() = nb::none(), nb::arg("name") = "");
  module.def("unwatch_module", [](const nb::object& watched, const nb::object& function, bool own) {
    UnwatchModule(watched.ptr(), function.ptr(), own);
  });
  nb::class_<Window>(module, "Window").def_prop_ro("dropped", [](const Window& window) {
    return window.losses.Get(profile::Loss::kRingDropped);
  });
  nb::class_<ModuleProfile>(module, "ModuleProfile")
      .def(
          "json",
          [](const ModuleProfile& made) { return result_json::WriteResultJson(made.result); },
          nb::call_guard<nb::gil_scoped_release>())
      .def("text", &ModuleProfile::Text, nb::arg("show_events"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("save_trace",
           [](const ModuleProfile& made, const std::string& path, bool force) {
             const Result<void> saved = [&] {
               const nb::gil_scoped_release released;
               return made.SaveTrace(path, force);
             }();
             if (!saved) Raise(saved.error());
           })
      .def("events", &EventsAsDict);
  module.def("write_file", [](const std::string& path, const std::string& text, bool force) {
    auto written = base::WriteFileAtomically(
        path, text, force ? base::Overwrite::kForce : base::Overwrite::kRefuse);
    if (!written) Raise(written.error());
  });
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
