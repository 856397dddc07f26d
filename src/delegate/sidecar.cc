#include "delegate/sidecar.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/files.h"
#include "base/json_writer.h"
#include "delegate/call_mode.h"
#include "delegate/trace_of_calls.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/trex/trex.h"
#include "inferprobe/clock.h"
#include "profile/model.h"

namespace inferprobe::delegate {
namespace {

// A model's or method's name as part of a file's. What had to be changed is told apart by a hash.
std::string FileNamePart(std::string_view text) {
  constexpr size_t kLongest = 100;
  constexpr size_t kDigits = 8;
  std::string part;
  for (const char c : text.substr(0, kLongest)) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '-' || c == '_';
    part += kept ? c : '_';
  }
  if (part != text) part += "-" + base::Sha256Hex(text).substr(0, kDigits);
  return part;
}

bool EndsWithOneOf(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace

Result<Sidecar> Sidecar::Open(Facts facts) {
  Sidecar sidecar(std::move(facts));
  for (const File& file : sidecar.Files()) {
    INFERPROBE_RETURN_IF_ERROR(sidecar.CheckNew(file.path));
    if (sidecar.facts_.config.format != ProfileFormat::kTrex) continue;
    INFERPROBE_RETURN_IF_ERROR(sidecar.CheckNew(trex::MetadataPath(file.path)));
  }
  return sidecar;
}

Result<void> Sidecar::CheckNew(const std::string& path) const {
  auto checked = base::CheckWritable(path, overwrite());
  if (checked || checked.error().code != ErrorCode::kAlreadyExists) return checked;
  Error error = checked.error();
  error.hint = "give another folder; to replace it, " + facts_.prefix +
               "_profile_overwrite, or --force of inferprobe perf";
  return tl::unexpected(std::move(error));
}

std::vector<Sidecar::File> Sidecar::Files() const {
  const ProfileConfig& config = facts_.config;
  const bool trex = config.format == ProfileFormat::kTrex;
  const std::string ext = trex ? ".json" : ".pftrace";
  std::string base = config.path_prefix;
  if (!base.ends_with('/')) base += '/';
  std::string engine = facts_.engine_id;
  if (facts_.window > 1) engine += ".window" + std::to_string(facts_.window);
  if (facts_.of == SidecarOf::kProcess) {
    base += engine;
    return {{base + ".engine" + ext, Part::kLayers},
            {base + ".input" + ext, Part::kInput},
            {base + ".output" + ext, Part::kOutput},
            {base + ".enqueue" + ext, Part::kEnqueue}};
  }
  base += FileNamePart(config.model.empty() ? "model" : config.model) + "." +
          FileNamePart(facts_.method) + "." + engine;
  if (!trex) return {{base + ".trace" + ext, Part::kTimeline}};
  std::vector<File> files = {{base + ".trace" + ext, Part::kPhases}};
  if (facts_.has_layers) files.push_back({base + ".layers" + ext, Part::kLayers});
  return files;
}

bool Sidecar::Holds(Part part, uint32_t event) const {
  const bool layer = (event & EventLog::kLayer) != 0;
  if (part == Part::kTimeline) return true;
  if (part == Part::kLayers) return layer;
  if (layer) return false;
  const std::string_view name = facts_.event_names[event];
  switch (part) {
    case Part::kInput:
      return EndsWithOneOf(name, {".input_binding", ".shape_inference"});
    case Part::kOutput:
      return EndsWithOneOf(name, {".output_binding", ".output_staging"});
    case Part::kEnqueue:
      return EndsWithOneOf(name, {".enqueue_host", ".synchronize", ".infer_host"});
    default:
      return event != facts_.device;
  }
}

Result<bool> Sidecar::Write(const LayerTable& layers) const {
  if (log_.calls() == 0) return false;
  for (const File& file : Files()) {
    INFERPROBE_RETURN_IF_ERROR(facts_.config.format == ProfileFormat::kTrex
                                   ? WriteTrex(file, layers)
                                   : WriteTrace(file, layers));
  }
  return true;
}

// As the event had it in a tracer.
std::string Sidecar::NoteOf(const EventLog::Event& event, int64_t unit_ns) const {
  base::JsonWriter json(0);
  json.BeginObject();
  if (event.name == facts_.device) {
    json.Key("kind").String("device");
    json.Key("clock").String(facts_.device_clock);
    json.Key("engine").String(facts_.engine_id);
    json.Key("call").Uint(event.call);
  } else {
    json.Key("kind").String("host_wall");
    if (event.name == facts_.whole_call) {
      const std::string_view mode = CallModeName(static_cast<CallMode>(event.note));
      if (!mode.empty()) json.Key("mode").String(mode);
      if (!facts_.device_clock.empty()) {
        json.Key("engine").String(facts_.engine_id);
        json.Key("call").Uint(event.call);
      }
    } else if (event.name == facts_.layer_report) {
      json.Key("calls").Uint(event.note);
      json.Key("unit_ns").Int(unit_ns);
    }
  }
  json.EndObject();
  return std::move(json).Take();
}

Result<void> Sidecar::WriteTrace(const File& file, const LayerTable& layers) const {
  const bool whole = file.part == Part::kTimeline;
  TraceOfCalls trace(facts_.engine_id, facts_.device_clock);
  for (const Layer& layer : layers.layers()) trace.AddLayer(layer.name.text(), layer.metadata);
  for (size_t i = 0; i < log_.size(); ++i) {
    const EventLog::Event& event = log_.at(i);
    if (!Holds(file.part, event.name)) continue;
    if ((event.name & EventLog::kLayer) != 0) {
      trace.PutLayer(event.call, event.name & ~EventLog::kLayer, event.start,
                     static_cast<int64_t>(event.end));
    } else if (event.name == facts_.device) {
      trace.PutDevice(facts_.event_names[event.name], event.start, static_cast<int64_t>(event.end),
                      NoteOf(event, 0));
    } else {
      trace.PutHost(event.call, facts_.event_names[event.name], event.start, event.end,
                    NoteOf(event, layers.unit_ns()), whole && event.name == facts_.whole_call);
    }
  }
  profile::Profile& profile = trace.Finish(whole);
  profile.losses.Add(profile::Loss::kIncompleteRun, log_.calls_left_out());

  profile::ModelFacts model;
  model.path = facts_.config.model;
  model.method = facts_.method;
  profile::EngineFacts facts;
  facts.name = facts_.engine;
  facts.title = facts_.engine;
  facts.version = facts_.engine_version;
  auto opened = base::AtomicFile::Create(file.path, overwrite());
  if (!opened) return tl::unexpected(opened.error());
  auto writer = perfetto::Writer::Create(*std::move(opened), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0, 0));
  return writer->Finish(
      perfetto::NotesOf(profile, model, facts,
                        {profile::Status::kNotMeasured, "a sidecar does not measure its own cost"},
                        {}, profile.losses));
}

Result<void> Sidecar::WriteTrex(const File& file, const LayerTable& layers) const {
  const bool of_layers = file.part == Part::kLayers;
  trex::LayerProfile profile;
  trex::Metadata metadata;
  profile.count = log_.calls();
  metadata.notes = {"all calls since profiling began, the first and warm-up among them"};
  if (of_layers) {
    uint64_t silent = 0;
    for (const Layer& layer : layers.layers()) {
      if (layer.reports == 0) {
        ++silent;
        continue;
      }
      trex::Layer out;
      out.name = layer.name.text();
      out.type = layer.type;
      out.exec = layer.executed_as;
      out.total_ns = layer.total_ns;
      out.calls = layer.reports;
      profile.layers.push_back(std::move(out));
    }
    metadata.kind = "engine_reported";
    if (layers.times() == LayerTimes::kOfRunningMean) metadata.of = "running_mean";
    if (const int64_t error_ns = layers.MeanErrorNs(); error_ns > 0) metadata.error_ns = error_ns;
    metadata.notes.emplace_back("reading layers adds overhead and can change scheduling");
    if (silent > 0) {
      metadata.notes.push_back("of " + std::to_string(silent) +
                               " more layers the engine told no time");
    }
    if (layers.restarts() > 0) {
      metadata.notes.push_back("the engine's list of layers changed " +
                               std::to_string(layers.restarts()) +
                               " times; these are the calls since the last change");
    }
    metadata.layers = trex::TypesOf(profile);
  } else {
    // Phases, or the whole call where there are none: one would contain the others.
    const auto add = [&](uint32_t event) {
      const EventLog::Sum& sum = log_.sum(event);
      if (sum.calls == 0 || !Holds(file.part, event)) return;
      trex::Layer out;
      out.name = facts_.event_names[event];
      out.total_ns = std::llround(static_cast<double>(sum.ticks) * Clock().ns_per_tick);
      out.calls = sum.calls;
      profile.layers.push_back(std::move(out));
    };
    for (uint32_t event = 0; event < facts_.whole_call; ++event) add(event);
    if (profile.layers.empty()) add(facts_.whole_call);
    metadata.kind = "host_wall";
  }
  metadata.engine_id = facts_.engine_id;
  metadata.engine = facts_.engine;
  metadata.engine_version = facts_.engine_version;
  metadata.model = facts_.config.model;
  metadata.method = facts_.method;
  INFERPROBE_RETURN_IF_ERROR(
      base::WriteFileAtomically(file.path, trex::WriteProfile(profile), overwrite()));
  return base::WriteFileAtomically(trex::MetadataPath(file.path), trex::WriteMetadata(metadata),
                                   overwrite());
}

}  // namespace inferprobe::delegate
