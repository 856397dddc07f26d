#include "delegate/sidecar.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "base/thread_identity.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/trex/trex.h"
#include "inferprobe/clock.h"
#include "profile/model.h"

namespace inferprobe::delegate {
namespace {

// A model's or method's name as part of a file's.
std::string FileNamePart(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string part;
  for (const char c : text.substr(0, kLongest)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_';
    part += plain ? c : '_';
  }
  return part.empty() ? "_" : part;
}

bool EndsWithOneOf(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace

Result<Sidecar> Sidecar::Open(Facts facts) {
  Sidecar sidecar(std::move(facts));
  for (const File& file : sidecar.Files()) {
    INFERPROBE_RETURN_IF_ERROR(base::CheckWritable(file.path, sidecar.overwrite()));
  }
  return sidecar;
}

std::vector<Sidecar::File> Sidecar::Files() const {
  const ProfileConfig& config = facts_.config;
  const bool trex = config.format == ProfileFormat::kTrex;
  const std::string ext = trex ? ".json" : ".pftrace";
  std::string base = config.path_prefix;
  if (!base.ends_with('/')) base += '/';
  if (facts_.of == SidecarOf::kProcess) {
    base += facts_.engine_id;
    return {{base + ".engine" + ext, Part::kLayers},
            {base + ".input" + ext, Part::kInput},
            {base + ".output" + ext, Part::kOutput},
            {base + ".enqueue" + ext, Part::kEnqueue}};
  }
  base += FileNamePart(config.model.empty() ? "model" : config.model) + "." +
          FileNamePart(facts_.method) + "." + facts_.engine_id;
  if (!trex) return {{base + ".trace" + ext, Part::kTimeline}};
  std::vector<File> files = {{base + ".trace" + ext, Part::kPhases}};
  if (config.level >= ProfileLevel::kLayers)
    files.push_back({base + ".layers" + ext, Part::kLayers});
  return files;
}

bool Sidecar::Holds(Part part, const EventLog::Event& event) const {
  const bool layer = (event.name & EventLog::kLayer) != 0;
  if (part == Part::kTimeline) return true;
  if (part == Part::kLayers) return layer;
  if (layer) return false;
  const std::string_view name = facts_.event_names[event.name];
  switch (part) {
    case Part::kInput:
      return EndsWithOneOf(name, {".input_binding", ".shape_inference"});
    case Part::kOutput:
      return EndsWithOneOf(name, {".output_binding", ".output_staging"});
    case Part::kEnqueue:
      return EndsWithOneOf(name, {".enqueue_host", ".synchronize", ".infer_host"});
    default:
      return true;
  }
}

Result<void> Sidecar::Write(const LayerTable& layers) const {
  if (log_.calls() == 0) return {};
  for (const File& file : Files()) {
    INFERPROBE_RETURN_IF_ERROR(facts_.config.format == ProfileFormat::kTrex
                                   ? WriteTrex(file, layers)
                                   : WriteTrace(file, layers));
  }
  return {};
}

Result<void> Sidecar::WriteTrace(const File& file, const LayerTable& layers) const {
  profile::Profile profile;
  profile.process_name = base::ProgramName();
  profile.run_id = base::RandomHex128();
  const ClockCalibration& clock = Clock();
  profile.clock.source = clock.tsc ? "tsc" : "clock_gettime";
  profile.clock.realtime_minus_monotonic_ns = clock.realtime_minus_monotonic_ns;
  profile.clock.boottime_minus_monotonic_ns = clock.boottime_minus_monotonic_ns;
  profile::Track host;
  host.name = "calls of " + facts_.engine_id;
  host.pid = base::ProcessId();
  host.tid = base::ThreadId();
  profile.tracks.push_back(host);
  profile::Track engine = host;
  engine.name = "layers of " + facts_.engine_id + " (engine-reported, start times not measured)";
  engine.type = profile::TrackType::kEngine;
  engine.kind = profile::Kind::kEngineReported;
  engine.tid = 0;
  engine.parent = 0;
  profile.tracks.push_back(engine);

  std::vector<uint32_t> layer_args;
  std::vector<profile::StringId> layer_names;
  for (const Layer& layer : layers.layers()) {
    profile::SliceArgs args;
    args.metadata = static_cast<uint32_t>(profile.metadata.size());
    profile.metadata.push_back(layer.metadata);
    layer_args.push_back(profile.AddArgs(args));
    layer_names.push_back(profile.strings.Intern(base::RepairUtf8(layer.name.text()).text));
  }
  std::map<uint32_t, int64_t> layer_at;  // of each call: where its next layer is drawn
  for (size_t i = 0; i < log_.size(); ++i) {
    const EventLog::Event& event = log_.at(i);
    if (!Holds(file.part, event)) continue;
    profile::Slice slice;
    if ((event.name & EventLog::kLayer) != 0) {
      const uint32_t layer = event.name & ~EventLog::kLayer;
      if (layer >= layer_names.size()) continue;
      auto [at, fresh] = layer_at.try_emplace(event.call, clock.ToNs(event.start));
      slice.start_ns = at->second;
      slice.dur_ns = static_cast<int64_t>(event.end);
      at->second += slice.dur_ns;
      slice.name = layer_names[layer];
      slice.track = 1;
      slice.category = profile::Category::kDelegateOp;
      slice.args = layer_args[layer];
    } else {
      slice.start_ns = clock.ToNs(event.start);
      slice.dur_ns = clock.ToNs(event.end) - slice.start_ns;
      slice.name = profile.strings.Intern(facts_.event_names[event.name]);
      slice.category = profile::Category::kOther;
    }
    profile.slices.push_back(slice);
  }
  if (log_.dropped() > 0) profile.losses.Add(profile::Loss::kRingDropped, log_.dropped());

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
  trex::LayerProfile profile;
  profile.count = log_.calls();
  if (file.part == Part::kLayers) {
    for (const Layer& layer : layers.layers()) {
      trex::Layer out;
      out.name = layer.name.text();
      out.type = layer.type;
      out.exec = layer.executed_as;
      out.total_ns = layer.total_ns;
      out.calls = layer.reports;
      profile.layers.push_back(std::move(out));
    }
  } else {
    std::map<uint32_t, trex::Layer> sums;
    for (size_t i = 0; i < log_.size(); ++i) {
      const EventLog::Event& event = log_.at(i);
      if (!Holds(file.part, event)) continue;
      trex::Layer& sum = sums[event.name];
      sum.name = facts_.event_names[event.name];
      sum.total_ns += Clock().ToNs(event.end) - Clock().ToNs(event.start);
      ++sum.calls;
    }
    for (auto& [name, sum] : sums) profile.layers.push_back(std::move(sum));
  }
  INFERPROBE_RETURN_IF_ERROR(
      base::WriteFileAtomically(file.path, trex::WriteProfile(profile), overwrite()));
  if (file.part != Part::kLayers) return {};
  trex::Metadata metadata;
  metadata.engine_id = facts_.engine_id;
  metadata.engine = facts_.engine;
  metadata.engine_version = facts_.engine_version;
  metadata.model = facts_.config.model;
  metadata.method = facts_.method;
  if (layers.times() == LayerTimes::kOfRunningMean) metadata.of = "running_mean";
  if (const int64_t error_ns = layers.MeanErrorNs(); error_ns > 0) metadata.error_ns = error_ns;
  metadata.notes = {"reading layers adds overhead and can change scheduling"};
  if (layers.restarts() > 0) {
    metadata.notes.push_back("the engine's list of layers changed " +
                             std::to_string(layers.restarts()) +
                             " times; these are the calls since the last change");
  }
  metadata.layers = trex::TypesOf(profile);
  return base::WriteFileAtomically(trex::MetadataPath(file.path), trex::WriteMetadata(metadata),
                                   overwrite());
}

}  // namespace inferprobe::delegate
