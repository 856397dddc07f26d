#include "measure/wire.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace inferprobe {

using nlohmann::json;

// Both directions of a struct from one list of its fields.
#define INFERPROBE_WIRE NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE

static void to_json(json& out, const Error& error) {
  out = {{"code", static_cast<int>(error.code)}, {"message", error.message}, {"hint", error.hint}};
}
static void from_json(const json& in, Error& error) {
  error.code = static_cast<ErrorCode>(in.at("code").get<int>());
  in.at("message").get_to(error.message);
  in.at("hint").get_to(error.hint);
}
// Without fixed_value: inputs are resolved in the worker.
INFERPROBE_WIRE(TensorSpec, name, type, shape, dynamic, is_scalar)

namespace profile {

template <typename T>
static void to_json(json& out, const Metric<T>& metric) {
  if (metric) {
    out = {{"value", *metric}};
  } else {
    out = {{"status", static_cast<int>(metric.missing().status)}, {"hint", metric.missing().hint}};
  }
}
template <typename T>
static void from_json(const json& in, Metric<T>& metric) {
  if (in.contains("value")) {
    metric = in.at("value").get<T>();
  } else {
    metric =
        Missing{static_cast<Status>(in.at("status").get<int>()), in.at("hint").get<std::string>()};
  }
}

INFERPROBE_WIRE(InputFacts, spec, source)
INFERPROBE_WIRE(DelegateFacts, id, backend, blob_bytes, engine_id)
INFERPROBE_WIRE(Module, path, also, class_name, parent, parameters, chosen, not_covered)
INFERPROBE_WIRE(NotCovered, what, why)
INFERPROBE_WIRE(ModuleFacts, tree, operators, memory, device, clock_error_ns, not_covered)
INFERPROBE_WIRE(ModelFacts, path, format, method, methods, sha256, bytes, inputs, outputs,
                instructions, delegates, instruction_names, instruction_delegates, modules, notes)
INFERPROBE_WIRE(EngineFacts, name, title, version, backends, threads)
INFERPROBE_WIRE(MemoryFacts, planned_bytes, planned_buffers, method_allocations, method_bytes,
                run_allocations, run_bytes, peak_rss_bytes)
INFERPROBE_WIRE(ClockFacts, source, tick_ns, read_cost_ps, realtime_minus_monotonic_ns,
                boottime_minus_monotonic_ns)
INFERPROBE_WIRE(BlockReading, process, start_ns, end_ns, steal_ticks, psi_cpu_some_us,
                psi_io_some_us, psi_memory_some_us, quota_throttled_us, thermal_throttles,
                freq_khz_min, freq_khz_max, load_average, temperature_c, process_cpu_ns,
                outside_cpu_ns, canary_ns)
INFERPROBE_WIRE(OutputCheck, verdict, max_abs_error, text, profiled_equal, repeatable, sha256)

}  // namespace profile

namespace measure {

static void to_json(json& out, const PerfOptions& options) {
  out = {{"model", options.model},
         {"engine", options.engine},
         {"method", options.method},
         {"inputs", options.inputs},
         {"data", options.data_files},
         {"shapes", options.shapes},
         {"warmup", options.warmup},
         {"threads", options.threads},
         {"run_id", options.run_id},
         {"ring_events", options.ring_events},
         {"level", options.level},
         {"profile_format", options.profile_format},
         {"force", options.force},
         {"profile_path_prefix", options.profile_path_prefix},
         {"processes", options.processes},
         {"delegates", options.delegates},
         {"regions", options.regions},
         {"delegate_levels", options.delegate_levels},
         {"latency_only", options.latency_only},
         {"outputs_to", options.outputs_to},
         {"outputs_expected", options.outputs_expected}};
  if (options.seed) out["seed"] = *options.seed;
  if (options.iterations) out["iterations"] = *options.iterations;
  if (options.duration_s) out["duration_s"] = *options.duration_s;
}
static void from_json(const json& in, PerfOptions& options) {
  in.at("model").get_to(options.model);
  in.at("engine").get_to(options.engine);
  in.at("method").get_to(options.method);
  in.at("inputs").get_to(options.inputs);
  in.at("data").get_to(options.data_files);
  in.at("shapes").get_to(options.shapes);
  in.at("warmup").get_to(options.warmup);
  in.at("threads").get_to(options.threads);
  in.at("run_id").get_to(options.run_id);
  in.at("ring_events").get_to(options.ring_events);
  in.at("level").get_to(options.level);
  in.at("profile_format").get_to(options.profile_format);
  in.at("profile_path_prefix").get_to(options.profile_path_prefix);
  in.at("force").get_to(options.force);
  in.at("processes").get_to(options.processes);
  in.at("delegates").get_to(options.delegates);
  in.at("regions").get_to(options.regions);
  in.at("latency_only").get_to(options.latency_only);
  in.at("outputs_to").get_to(options.outputs_to);
  in.at("outputs_expected").get_to(options.outputs_expected);
  in.at("delegate_levels").get_to(options.delegate_levels);
  if (in.contains("seed")) options.seed = in.at("seed").get<uint64_t>();
  if (in.contains("iterations")) options.iterations = in.at("iterations").get<uint64_t>();
  if (in.contains("duration_s")) options.duration_s = in.at("duration_s").get<double>();
}

INFERPROBE_WIRE(BackendDescription, name, state)
INFERPROBE_WIRE(PlanMessage, options, process, describe)
INFERPROBE_WIRE(DescribedMessage, name, title, version, backends, notes, regions)
INFERPROBE_WIRE(LoadedMessage, model, engine, clock, region_sources, event_cost_ns)
INFERPROBE_WIRE(PhaseMessage, phase, done, total, seconds)
static void to_json(json& out, const DrainMessage& /*message*/) { out = json::object(); }
static void from_json(const json& /*in*/, DrainMessage& /*message*/) {}
static void to_json(json& out, const DrainedMessage& /*message*/) { out = json::object(); }
static void from_json(const json& /*in*/, DrainedMessage& /*message*/) {}
INFERPROBE_WIRE(BlockMessage, reading)
INFERPROBE_WIRE(DoneMessage, model, memory, outputs, unwritten_sidecar)
INFERPROBE_WIRE(ErrorMessage, error)

namespace {
template <size_t... I>
Message FromIndex(size_t index, const json& body, std::index_sequence<I...> /*all*/) {
  Message message;
  ((index == I ? (message = body.get<std::variant_alternative_t<I, Message>>(), 0) : 0), ...);
  return message;
}
}  // namespace

std::string Encode(const Message& message, std::string_view version) {
  const json body = std::visit([](const auto& value) { return json(value); }, message);
  // MessagePack, as paths and log texts may hold bytes that are not UTF-8.
  std::string bytes;
  json::to_msgpack(json{{"version", version}, {"type", message.index()}, {"body", body}}, bytes);
  return bytes;
}

Result<Message> Decode(std::string_view bytes) {
  std::string why = "its type is unknown";
  try {
    const json parsed = json::from_msgpack(bytes);
    const auto version = parsed.at("version").get<std::string>();
    if (version != INFERPROBE_VERSION) {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("the command and its worker are of different versions: this one "
                                   "is inferprobe " INFERPROBE_VERSION ", the other one {}",
                                   version),
                       "install the command and the Python package from one checkout");
    }
    const auto index = parsed.at("type").get<size_t>();
    if (index < std::variant_size_v<Message>) {
      return FromIndex(index, parsed.at("body"),
                       std::make_index_sequence<std::variant_size_v<Message>>());
    }
  } catch (const json::exception& error) {
    why = error.what();
  }
  return MakeError(
      ErrorCode::kInternal,
      fmt::format("a message between inferprobe and its worker ({} bytes) is broken: {}",
                  bytes.size(), why),
      "are the command and its worker from one build?");
}

}  // namespace measure
}  // namespace inferprobe
