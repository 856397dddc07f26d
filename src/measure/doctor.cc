#include "measure/doctor.h"

#include <fmt/format.h>

#include "base/perf_event_probe.h"
#include "inferprobe/clock.h"
#include "measure/engine_registry.h"
#include "measure/machine/disturbance.h"
#include "measure/machine/environment.h"
#include "measure/worker_client.h"
#include "record/calibrate.h"

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

// `backends`: what the engine says of what can run inside it; `regions`: of its parallel loops.
Metric<std::string> EngineState(const std::string& program, const EngineInfo& info,
                                std::vector<BackendDescription>* backends,
                                Metric<std::string>* regions) {
  if (!info.in_python) {
    if (auto found = FindPlugin(std::string(info.name)); !found) {
      return Missing{Status::kNotBuiltIn, found.error().hint};
    }
  }
  auto worker = WorkerCommandFor(std::string(info.name), program, "");
  if (!worker) {
    return Missing{Status::kNotBuiltIn, worker.error().message + "; " + worker.error().hint};
  }
  auto described = DescribeEngine(*worker, std::string(info.name));
  if (!described) {
    const Error& error = described.error();
    return Missing{Status::kUnavailable,
                   error.message + (error.hint.empty() ? "" : "; " + error.hint)};
  }
  *backends = described->backends;
  *regions = described->regions;
  std::string text = fmt::format("{} {}", described->title, described->version);
  for (const std::string& note : described->notes) text += "; " + note;
  return text;
}

void AddClocks(std::vector<DoctorRow>* rows) {
  const record::ProbeCosts& costs = record::CalibratedCosts();
  if (Clock().tsc) {
    rows->push_back({"clock", "TSC",
                     fmt::format("in use: a tick is {:.2f} ns, a reading costs {:.1f} ns",
                                 costs.tick_ns, costs.clock_read_ns)});
    rows->push_back({"clock", "CLOCK_MONOTONIC", std::string("the scale of every time")});
  } else {
    rows->push_back({"clock", "TSC", Missing{Status::kUnsupported, WhyNotTsc()}});
    rows->push_back({"clock", "CLOCK_MONOTONIC",
                     fmt::format("in use: a tick is {:.0f} ns, a reading costs {:.1f} ns",
                                 costs.tick_ns, costs.clock_read_ns)});
  }
}

void AddCounters(std::vector<DoctorRow>* rows) {
  const base::PerfEventProbe probe = base::ProbePerfEvents();
  Metric<std::string> state = Missing{Status::kNotBuiltIn,
                                      "the machine has them; this version of "
                                      "inferprobe does not read them"};
  if (probe.error != 0) {
    const bool permission = probe.error == EACCES || probe.error == EPERM;
    state = Missing{permission ? Status::kPermissionDenied : Status::kUnsupported, probe.text};
  }
  rows->push_back({"counter", "cycles, instructions, cache misses", state});
}

void AddHooks(const Metric<std::string>& executorch, const Metric<std::string>& regions,
              std::vector<DoctorRow>* rows) {
  rows->push_back({"hook", "ExecuTorch event tracer",
                   executorch ? Metric<std::string>("operators, kernels, delegate calls and what "
                                                    "delegates report")
                              : Metric<std::string>(Missing{executorch.missing().status,
                                                            "needs the engine, above"})});
  rows->push_back({"hook", "scopes in your own code",
                   std::string("#include <inferprobe/scope.h>, link inferprobe::record")});
  rows->push_back({"hook", "parallel regions of ExecuTorch", regions});
  rows->push_back({"hook", "parallel regions of your own code",
                   std::string("#include <inferprobe/parallel_for.h>, link inferprobe::regions")});
  rows->push_back({"hook", "GPU times from ETW", Missing{Status::kUnsupported, "only on Windows"}});
}

}  // namespace

std::vector<DoctorRow> Examine(const std::string& program) {
  std::vector<DoctorRow> rows;
  Metric<std::string> regions_of_executorch =
      Missing{Status::kNotBuiltIn, "needs the engine, above"};
  for (const EngineInfo& info : KnownEngines()) {
    std::vector<BackendDescription> backends;
    Metric<std::string> regions = regions_of_executorch;
    rows.push_back(
        {"engine", std::string(info.title), EngineState(program, info, &backends, &regions)});
    if (info.name == "executorch") regions_of_executorch = regions;
    for (const BackendDescription& backend : backends) {
      rows.push_back({"delegate", backend.name, backend.state});
    }
  }
  AddClocks(&rows);
  for (const DisturbanceSource& source : DisturbanceSources()) {
    rows.push_back({"disturbance", source.name,
                    source.available ? Metric<std::string>(source.where)
                                     : Metric<std::string>(source.available.missing())});
  }
  AddCounters(&rows);
  AddHooks(rows.front().state, regions_of_executorch, &rows);
  return rows;
}

}  // namespace inferprobe::measure
