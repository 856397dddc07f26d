// The Python module inferprobe._core: RunPerf and the reading of files as functions. Options are
// checked, and results are dressed, in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_profile.h"
#include "engine.h"
#include "formats/registry/registry.h"
#include "formats/result_json/result_json.h"
#include "inferprobe/clock.h"
#include "inferprobe/config.h"
#include "measure/level_choices.h"
#include "measure/perf.h"
#include "raise.h"
#include "report/perf_text.h"

namespace nb = nanobind;

namespace inferprobe::python {
namespace {

// Measures on a thread of its own, while this one, without the GIL, looks for signals: Python runs
// the handler of Ctrl-C only when the main thread asks for it. What the user must know while it
// runs (the worker was stopped) is a RuntimeWarning.
Result<profile::PerfResult> RunInterruptibly(const measure::PerfOptions& options) {
  std::optional<Result<profile::PerfResult>> result;
  std::atomic<bool> cancel = false;
  std::mutex mutex;
  std::condition_variable finished;
  std::vector<std::string> notices;
  const auto note = [&](const measure::Progress& progress) {
    if (progress.notice.empty()) return;
    const std::lock_guard lock(mutex);
    notices.emplace_back(progress.notice);
  };
  std::thread measuring([&] {
    auto measured = measure::RunPerf(options, note, &cancel);
    const std::lock_guard lock(mutex);
    result.emplace(std::move(measured));
    finished.notify_one();
  });

  std::optional<nb::python_error> interrupt;
  {
    const nb::gil_scoped_release without_gil;
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50),
                              [&] { return result.has_value(); })) {
      if (cancel) continue;
      const std::vector<std::string> told = std::exchange(notices, {});
      lock.unlock();
      {
        const nb::gil_scoped_acquire with_gil;
        bool raised = PyErr_CheckSignals() != 0;
        for (size_t i = 0; i < told.size() && !raised; ++i) {
          raised = PyErr_WarnEx(PyExc_RuntimeWarning, told[i].c_str(), 1) != 0;
        }
        if (raised) {
          interrupt.emplace();
          cancel = true;
        }
      }
      lock.lock();
    }
  }
  measuring.join();
  if (interrupt) throw std::move(*interrupt);
  return std::move(*result);
}

// The result JSON, and the tables for people.
using Shown = std::pair<std::string, std::string>;
Shown Show(const profile::PerfResult& result) {
  return {result_json::WriteResultJson(result),
          report::PerfReport(result, report::Format::kTable, {})};
}

// What a file holds, as a result.
Result<profile::PerfResult> Open(const std::string& path) {
  auto opened = formats::OpenFile(path, {});
  if (!opened) return tl::unexpected(std::move(opened).error());
  return formats::FiguresOf(*std::move(opened));
}

Shown Load(const std::string& path) {
  Result<Shown> shown;
  {
    const nb::gil_scoped_release without_gil;
    const auto opened = Open(path);
    shown = opened ? Result<Shown>(Show(*opened)) : tl::unexpected(opened.error());
  }
  if (!shown) Raise(shown.error());
  return std::move(*shown);
}

Shown Perf(std::string model, std::string worker_program, std::string python, std::string method,
           std::vector<std::string> inputs, std::vector<std::string> shapes,
           std::vector<std::string> data_files, std::optional<uint64_t> iterations,
           std::optional<double> duration_s, uint64_t warmup, uint32_t processes, int threads,
           std::optional<uint64_t> seed, std::string output, std::string trace, std::string etdump,
           bool force, const std::vector<std::string>& levels, std::string profile_format,
           std::string profile_path_prefix, std::vector<std::string> delegates,
           std::string regions) {
  measure::PerfOptions options;
  auto parsed = measure::ParseLevelChoices(levels);
  if (!parsed) Raise(parsed.error());
  options.level = std::move(parsed->all);
  options.delegate_levels = std::move(parsed->of_delegates);
  options.profile_format = std::move(profile_format);
  options.profile_path_prefix = std::move(profile_path_prefix);
  options.delegates = std::move(delegates);
  options.regions = std::move(regions);
  options.model = std::move(model);
  options.worker_program = std::move(worker_program);
  options.python = std::move(python);
  options.method = std::move(method);
  options.inputs = std::move(inputs);
  options.shapes = std::move(shapes);
  options.data_files = std::move(data_files);
  options.iterations = iterations;
  options.duration_s = duration_s;
  options.warmup = warmup;
  options.processes = processes;
  options.threads = threads;
  options.seed = seed;
  options.output = std::move(output);
  options.trace = std::move(trace);
  options.etdump = std::move(etdump);
  options.force = force;
  auto result = RunInterruptibly(options);
  if (!result) Raise(result.error());
  if (!result->unwritten.empty()) Raise(result->unwritten.front());
  return Show(*result);
}

void RaiseIfRefused(const Result<void>& result) {
  if (!result) Raise(result.error());
}
// Of each engine: name, version, method, and whether the switch reaches it as it stands.
std::vector<std::tuple<std::string, std::string, std::string, bool>> SwitchEngines() {
  const bool overrides = GetGlobalProfilingConfig().overrides_methods;
  std::vector<std::tuple<std::string, std::string, std::string, bool>> engines;
  for (const ProfiledEngine& one : GetProfiledEngines()) {
    const bool reached =
        one.reach == SwitchReach::kFollows || (one.reach == SwitchReach::kOwnLevel && overrides);
    engines.emplace_back(one.engine, one.version, one.method, reached);
  }
  return engines;
}

void SwitchExecution(bool enabled, bool override_methods) {
  RaiseIfRefused(SetProfileExecution(
      enabled, override_methods ? MethodOptions::kOverride : MethodOptions::kRespect));
}
void SwitchFormat(const std::string& format) { RaiseIfRefused(SetProfileFormat(format)); }
void SwitchPathPrefix(const std::string& folder) { RaiseIfRefused(SetProfilePathPrefix(folder)); }
std::tuple<bool, std::string, std::string, uint64_t> SwitchState() {
  const GlobalProfilingConfig config = GetGlobalProfilingConfig();
  return {config.enabled, config.profile_format, config.profile_path_prefix, config.generation};
}

}  // namespace
}  // namespace inferprobe::python

NB_MODULE(_core, module) {
  module.def("perf", &inferprobe::python::Perf, nb::kw_only(), nb::arg("model"),
             nb::arg("worker_program"), nb::arg("python"), nb::arg("method"), nb::arg("inputs"),
             nb::arg("shapes"), nb::arg("data_files"), nb::arg("iterations").none(),
             nb::arg("duration_s").none(), nb::arg("warmup"), nb::arg("processes"),
             nb::arg("threads"), nb::arg("seed").none(), nb::arg("output"), nb::arg("trace"),
             nb::arg("etdump"), nb::arg("force"), nb::arg("levels"), nb::arg("profile_format"),
             nb::arg("profile_path_prefix"), nb::arg("delegates"), nb::arg("regions"));
  module.def("run_worker", &inferprobe::python::RunPythonWorker, nb::arg("plugin"));
  module.def("npy_spec", &inferprobe::python::NpySpec, nb::arg("path"));
  module.def("load", &inferprobe::python::Load, nb::arg("path"));
  module.def("set_profile_execution", &inferprobe::python::SwitchExecution, nb::arg("enabled"),
             nb::arg("override_methods"));
  module.def("set_profile_format", &inferprobe::python::SwitchFormat, nb::arg("name"));
  module.def("set_profile_path_prefix", &inferprobe::python::SwitchPathPrefix, nb::arg("folder"));
  module.def("get_profile_engines", &inferprobe::python::SwitchEngines);
  module.def("last_delegate_error", [] { return inferprobe::LastDelegateError(); });
  module.def("get_profile_config", &inferprobe::python::SwitchState);
  module.def("now_ns", [] { return inferprobe::Clock().ToNs(inferprobe::NowTicks()); });
  inferprobe::python::BindProfile(module);
}
