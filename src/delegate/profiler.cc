// One engine under observation: its settings, its lock, and the call that is in it.
//
// The order under the lock, which the header promises: wait for what is in flight where the context
// changes; compare and apply the settings; then the call's own events.
#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <optional>
#include <utility>

#include "delegate/call_mode.h"
#include "delegate/check_config.h"
#include "delegate/emitter.h"
#include "delegate/engine_ids.h"
#include "delegate/engine_list.h"
#include "delegate/event_log.h"
#include "delegate/layer_table.h"
#include "delegate/sidecar.h"
#include "inferprobe/clock.h"
#include "inferprobe/delegate.h"

namespace inferprobe {

using delegate::Emitter;
using delegate::EventName;

namespace {

// Numbers of the events of a profiler, also in its sidecar's log: the phases in their order, then
// these.
constexpr uint32_t kDelegateEvent = kPhases;
constexpr uint32_t kLayerReportEvent = kPhases + 1;
constexpr uint32_t kDeviceEvent = kPhases + 2;
constexpr uint32_t kApplyEvent = kPhases + 3;
constexpr size_t kEvents = kPhases + 4;

constexpr std::string_view kHostWall = R"({"kind":"host_wall"})";
constexpr const char* kNeverConsumed = "the device never told it, up to the engine's last wait";

// A metadata object in a buffer on the stack: a call allocates nothing.
class MetadataText {
 public:
  MetadataText& Text(std::string_view text) {
    used_ += text.copy(bytes_.data() + used_, bytes_.size() - used_);
    return *this;
  }
  MetadataText& Number(uint64_t value) {
    const auto [end, error] =
        std::to_chars(bytes_.data() + used_, bytes_.data() + bytes_.size(), value);
    if (error == std::errc()) used_ = static_cast<size_t>(end - bytes_.data());
    return *this;
  }
  // Text of somebody else's: no longer than a name of a clock or an identity is.
  MetadataText& Escaped(std::string_view text) {
    constexpr size_t kLongest = 80;
    for (const char c : text.substr(0, kLongest)) {
      const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
      Text(std::string_view(plain ? &c : "?", 1));
    }
    return *this;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), used_}; }

 private:
  std::array<char, 512> bytes_;  // the first `used_` are written
  size_t used_ = 0;
};

}  // namespace

const char* PhaseSuffix(Phase phase) {
  switch (phase) {
    case Phase::kInputBinding:
      return ".input_binding";
    case Phase::kShapeInference:
      return ".shape_inference";
    case Phase::kOutputBinding:
      return ".output_binding";
    case Phase::kEnqueueHost:
      return ".enqueue_host";
    case Phase::kOutputStaging:
      return ".output_staging";
    case Phase::kSynchronize:
      return ".synchronize";
    case Phase::kInferHost:
      return ".infer_host";
  }
  return "";
}

EngineHooks::~EngineHooks() = default;
Result<void> EngineHooks::AttachLayers() {
  return MakeError(ErrorCode::kUnsupported, "this engine cannot report its layers",
                   "use the level phases");
}
Result<int64_t> EngineHooks::DeviceNs(int /*slot*/) {
  return MakeError(ErrorCode::kUnsupported, "this engine has no device events");
}

struct DelegateProfiler::Impl {
  static constexpr int kDevicePairs = 8;
  static constexpr size_t kLongestReason = 200;
  explicit Impl(DelegateOptions given) : options(std::move(given)), effective(options.config) {
    for (size_t i = 0; i < kPhases; ++i) {
      names[i] = EventName(options.prefix + PhaseSuffix(static_cast<Phase>(i)));
    }
    names[kDelegateEvent] = EventName(options.prefix + ".delegate");
    names[kLayerReportEvent] = EventName(options.prefix + ".layer_report");
    names[kDeviceEvent] = EventName(options.prefix + ".device");
    names[kApplyEvent] = EventName(options.prefix + ".apply_config");
    stats.device_missing_why.reserve(kLongestReason);  // a call allocates nothing
  }

  // Makes `next` hold: layers are attached or removed, sidecars of before are written. An error
  // leaves what held before; one of writing alone comes after `next` holds.
  Result<void> Apply(const ProfileConfig& next, uint64_t switch_generation);
  [[nodiscard]] Result<std::optional<delegate::Sidecar>> OpenSidecar(const ProfileConfig& config,
                                                                     delegate::SidecarOf of) const;
  Result<void> WriteSidecar();
  void Tell(const Error& error) const;
  // The process-wide switch's number where it decides, else 0.
  [[nodiscard]] uint64_t GenerationOf(const GlobalProfilingConfig& global) const;
  void FollowSwitch(EventSink* sink);
  [[nodiscard]] ProfileConfig Wanted(const GlobalProfilingConfig& global) const;
  void TakeDeviceResults();
  void LoseDeviceResult(std::string_view why);
  Result<void> Close();

  delegate::EventLog* log() { return sidecar ? sidecar->log() : nullptr; }

  DelegateOptions options;
  std::array<EventName, kEvents> names;
  mutable std::mutex mutex;
  ProfileConfig effective;
  uint64_t seen_generation = 0;
  uint64_t switch_generation = 0;  // 0: the settings are the method's own
  std::string engine_id;
  bool attached = false;
  bool closed = false;
  bool enabled_here = false;                     // EnableProfiling()
  std::optional<delegate::ListedEngine> listed;  // as long as it is not closed
  std::optional<delegate::Sidecar> sidecar;
  uint32_t windows = 0;  // whose files are written
  delegate::LayerTable layers;
  std::array<uint64_t, kDevicePairs> pairs{};  // of each pair its call's number; 0: it is free
  DelegateStats stats;

  // Of the call that holds the lock.
  Emitter emitter;
  Emitter::Open call;
  Emitter::Open phase;
  Emitter::Open report;
  uint64_t call_number = 0;
  bool has_device_pair = false;
  bool tell_missing = false;  // the call's own event says why a device's result is lost
};

Result<std::optional<delegate::Sidecar>> DelegateProfiler::Impl::OpenSidecar(
    const ProfileConfig& config, delegate::SidecarOf of) const {
  if (config.level == ProfileLevel::kOff || config.format == ProfileFormat::kEtdump) {
    return std::optional<delegate::Sidecar>();
  }
  delegate::Sidecar::Facts facts;
  facts.of = of;
  facts.prefix = options.prefix;
  facts.engine_id = engine_id;
  facts.engine = options.engine;
  facts.engine_version = options.engine_version;
  facts.method = options.method;
  facts.config = config;
  facts.has_layers = config.level == ProfileLevel::kLayers && options.hooks != nullptr;
  facts.window = windows + (sidecar && sidecar->calls() > 0 ? 2 : 1);
  for (const EventName& name : names) facts.event_names.push_back(name.text());
  facts.whole_call = kDelegateEvent;
  facts.layer_report = kLayerReportEvent;
  facts.device = kDeviceEvent;
  if (options.hooks != nullptr) facts.device_clock = options.hooks->DeviceClock();
  auto opened = delegate::Sidecar::Open(std::move(facts));
  if (!opened) return tl::unexpected(opened.error());
  return std::optional<delegate::Sidecar>(*std::move(opened));
}

Result<void> DelegateProfiler::Impl::WriteSidecar() {
  if (!sidecar) return {};
  stats.sidecar_calls_left_out += sidecar->log()->calls_left_out();
  auto written = sidecar->Write(layers);
  sidecar.reset();
  if (!written) return tl::unexpected(written.error());
  windows += *written ? 1 : 0;
  return {};
}

void DelegateProfiler::Impl::Tell(const Error& error) const {
  SetLastDelegateError(error);
  if (options.log != nullptr) options.log(LastDelegateError().c_str());
}

Result<void> DelegateProfiler::Impl::Apply(const ProfileConfig& next, uint64_t generation) {
  if (closed) {
    return MakeError(ErrorCode::kInvalidArgument,
                     options.prefix + ": the engine's profiler is closed");
  }
  INFERPROBE_RETURN_IF_ERROR(delegate::CheckConfig(options.prefix, next, options.place));
  const bool wants_layers = next.level == ProfileLevel::kLayers && options.hooks != nullptr;
  const bool fresh_id = engine_id.empty() && next.level != ProfileLevel::kOff;
  if (fresh_id) engine_id = delegate::NextEngineId(options.content_hash);
  const auto give_back_id = [&] {
    if (fresh_id) delegate::ReturnEngineId(options.content_hash, std::exchange(engine_id, ""));
  };
  auto opened = OpenSidecar(
      next, generation != 0 ? delegate::SidecarOf::kProcess : delegate::SidecarOf::kMethod);
  if (!opened) {
    give_back_id();
    return tl::unexpected(opened.error());
  }
  if (next.level != ProfileLevel::kOff) {
    Clock();  // before a call reads ticks; waits up to 20 ms the first time
  }
  if (attached != wants_layers && options.hooks != nullptr) options.hooks->WaitUntilIdle();
  if (wants_layers && !attached) {
    if (auto done = options.hooks->AttachLayers(); !done) {
      give_back_id();
      return done;
    }
    attached = true;
    ++stats.layers_attached;
  } else if (!wants_layers && attached) {
    options.hooks->DetachLayers();
    attached = false;
  }
  effective = next;
  switch_generation = generation;
  auto written = WriteSidecar();
  layers.ClearSums();
  sidecar = *std::move(opened);
  return written;
}

uint64_t DelegateProfiler::Impl::GenerationOf(const GlobalProfilingConfig& global) const {
  const bool decides = global.enabled && options.follows_process_wide && !enabled_here &&
                       (!options.config.level_is_given || global.overrides_methods);
  return decides ? global.generation : 0;
}

ProfileConfig DelegateProfiler::Impl::Wanted(const GlobalProfilingConfig& global) const {
  ProfileConfig wanted = options.config;
  if (enabled_here) {
    wanted.level = ProfileLevel::kLayers;
    return wanted;
  }
  if (GenerationOf(global) == 0) return wanted;
  wanted.level = ProfileLevel::kLayers;
  auto format = ParseProfileFormat("profile_format", global.profile_format);
  if (format) wanted.format = *format;
  wanted.path_prefix = global.profile_path_prefix;
  return wanted;
}

// One load as long as nothing changed.
void DelegateProfiler::Impl::FollowSwitch(EventSink* sink) {
  if (GlobalProfilingGeneration() == seen_generation) [[likely]]
    return;
  const GlobalProfilingConfig global = GetGlobalProfilingConfig();
  seen_generation = global.generation;
  if (!options.follows_process_wide) return;
  const ProfileConfig wanted = Wanted(global);
  const uint64_t generation = GenerationOf(global);
  const bool same = wanted.level == effective.level && wanted.format == effective.format &&
                    wanted.path_prefix == effective.path_prefix;
  if (same) {
    switch_generation = generation;
    return;
  }
  // What the engine needs for it may take long, and is no part of the call.
  Emitter around;
  Emitter::Open open;
  if (around.Choose(sink, nullptr)) around.Begin(names[kApplyEvent], kApplyEvent, &open);
  if (auto applied = Apply(wanted, generation); !applied) Tell(applied.error());
  around.End(&open, kHostWall);
}

Result<std::unique_ptr<DelegateProfiler>> DelegateProfiler::Create(DelegateOptions options) {
  ProfileConfig config = options.config;
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->effective.level = ProfileLevel::kOff;
  INFERPROBE_RETURN_IF_ERROR(impl->Apply(config, 0));
  const DelegateOptions& given = impl->options;
  impl->listed.emplace(ProfiledEngine{given.prefix, given.engine, given.engine_version,
                                      given.method,
                                      !given.follows_process_wide ? SwitchReach::kCannot
                                      : config.level_is_given     ? SwitchReach::kOwnLevel
                                                                  : SwitchReach::kFollows});
  return std::unique_ptr<DelegateProfiler>(new DelegateProfiler(std::move(impl)));
}

DelegateProfiler::DelegateProfiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DelegateProfiler::~DelegateProfiler() {
  if (auto closed = Close(); !closed) impl_->Tell(closed.error());
}

Result<void> DelegateProfiler::Impl::Close() {
  if (closed) return {};
  closed = true;
  const bool in_flight =
      std::any_of(pairs.begin(), pairs.end(), [](uint64_t number) { return number != 0; });
  const bool off = effective.level == ProfileLevel::kOff;
  if (off && !in_flight) return {};
  if (options.hooks != nullptr) options.hooks->WaitUntilIdle();
  // The engine's last wait: what it finished is booked, what did not come never will.
  if (!off && emitter.Choose(nullptr, log())) emitter.MarkStart();
  TakeDeviceResults();
  emitter.Stop();
  for (uint64_t& number : pairs) {
    if (std::exchange(number, 0) == 0) continue;
    LoseDeviceResult(kNeverConsumed);
  }
  auto written = WriteSidecar();
  attached = false;
  effective.level = ProfileLevel::kOff;
  return written;
}

Result<void> DelegateProfiler::Close() {
  const std::lock_guard lock(impl_->mutex);
  impl_->listed.reset();
  return impl_->Close();
}

Result<void> DelegateProfiler::EnableProfiling(bool enabled) {
  const std::lock_guard lock(impl_->mutex);
  const bool before = std::exchange(impl_->enabled_here, enabled);
  const GlobalProfilingConfig global = GetGlobalProfilingConfig();
  auto applied = impl_->Apply(impl_->Wanted(global), impl_->GenerationOf(global));
  if (!applied) impl_->enabled_here = before;
  return applied;
}

Result<void> DelegateProfiler::SetProfileFormat(std::string_view format) {
  const std::lock_guard lock(impl_->mutex);
  auto chosen = ParseProfileFormat(impl_->options.prefix + "_profile_format", format);
  if (!chosen) return tl::unexpected(chosen.error());
  ProfileConfig next = impl_->effective;
  next.format = *chosen;
  INFERPROBE_RETURN_IF_ERROR(impl_->Apply(next, impl_->switch_generation));
  impl_->options.config.format = *chosen;
  return {};
}

ProfileConfig DelegateProfiler::config() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->effective;
}
std::string DelegateProfiler::engine_id() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->engine_id;
}
DelegateStats DelegateProfiler::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

DelegateCall::DelegateCall(DelegateProfiler* profiler, EventSink* sink) : profiler_(*profiler) {
  DelegateProfiler::Impl& it = *profiler_.impl_;
  it.mutex.lock();
  if (!it.closed) it.FollowSwitch(sink);
  if (it.effective.level == ProfileLevel::kOff) return;
  if (!it.emitter.Choose(sink, it.log())) return;
  level_ = it.effective.level;
  layers_ = it.attached;
  it.call_number = ++it.stats.calls;
  it.has_device_pair = false;
  it.emitter.MarkStart();
  it.emitter.Begin(it.names[kDelegateEvent], kDelegateEvent, &it.call);
  if (it.log() != nullptr) it.log()->BeginCall(it.call.start);  // layers are drawn from there
}

DelegateCall::~DelegateCall() {
  DelegateProfiler::Impl& it = *profiler_.impl_;
  if (level_ != ProfileLevel::kOff) {
    EndPhase();
    it.emitter.End(&it.call, R"({"kind":"host_wall","failed":true})");
    it.emitter.End(&it.report, kHostWall);
    it.emitter.Stop();
  }
  it.mutex.unlock();
}

void DelegateCall::BeginPhase(Phase phase) {
  if (!wants_phases()) return;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  it.emitter.End(&it.phase, kHostWall);  // phases follow each other, none lies in another
  const auto event = static_cast<uint32_t>(phase);
  it.emitter.Begin(it.names[event], event, &it.phase);
}

void DelegateCall::EndPhase() {
  if (!wants_phases()) return;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  it.emitter.End(&it.phase, kHostWall);
}

void DelegateCall::Finish(CallMode mode) {
  if (level_ == ProfileLevel::kOff) return;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  MetadataText metadata;
  metadata.Text(R"({"kind":"host_wall")");
  if (mode != CallMode::kUnknown)
    metadata.Text(R"(,"mode":")").Text(delegate::CallModeName(mode)).Text("\"");
  if (it.has_device_pair) {
    metadata.Text(R"(,"engine":")")
        .Escaped(it.engine_id)
        .Text(R"(","call":)")
        .Number(it.call_number);
  }
  if (it.switch_generation != 0) {
    metadata.Text(R"(,"config":"process-wide, generation )")
        .Number(it.switch_generation)
        .Text("\"");
  }
  if (std::exchange(it.tell_missing, false)) {
    metadata.Text(R"(,"device_missing":")").Escaped(it.stats.device_missing_why).Text("\"");
  }
  it.emitter.End(&it.call, metadata.Text("}").view(), static_cast<uint64_t>(mode));
}

int DelegateCall::OpenDevicePair() {
  if (!wants_phases()) return -1;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  for (int slot = 0; slot < DelegateProfiler::Impl::kDevicePairs; ++slot) {
    uint64_t& pair = it.pairs[static_cast<size_t>(slot)];
    if (pair != 0) continue;
    pair = it.call_number;
    it.has_device_pair = true;
    return slot;
  }
  it.LoseDeviceResult("all pairs of device events were in flight");
  it.has_device_pair = true;  // the call is numbered, so that its missing result is seen
  return -1;
}

void DelegateCall::Waited() {
  if (level_ == ProfileLevel::kOff) return;
  profiler_.impl_->TakeDeviceResults();
}

void DelegateProfiler::Impl::LoseDeviceResult(std::string_view why) {
  ++stats.device_missing;
  stats.device_missing_why.assign(why.substr(0, kLongestReason));
  tell_missing = true;
}

void DelegateProfiler::Impl::TakeDeviceResults() {
  if (options.hooks == nullptr) return;
  for (int slot = 0; slot < kDevicePairs; ++slot) {
    uint64_t& pair = pairs[static_cast<size_t>(slot)];
    if (pair == 0) continue;
    auto ns = options.hooks->DeviceNs(slot);
    if (ns && *ns < 0) continue;  // not over yet: a later wait will tell
    const uint64_t number = std::exchange(pair, 0);
    if (!ns) {
      LoseDeviceResult(ns.error().message);
      continue;
    }
    ++stats.device_results;
    if (!emitter.active()) continue;
    MetadataText metadata;
    metadata.Text(R"({"kind":"device","clock":")").Escaped(options.hooks->DeviceClock());
    metadata.Text(R"(","engine":")").Escaped(engine_id).Text(R"(","call":)").Number(number);
    emitter.Log(names[kDeviceEvent], 0, *ns, metadata.Text("}").view());
    if (log() != nullptr) log()->AddDevice(kDeviceEvent, number, *ns);
  }
}

void DelegateCall::BeginLayers() {
  if (!wants_layers()) return;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  it.emitter.Begin(it.names[kLayerReportEvent], kLayerReportEvent, &it.report);
}

void DelegateCall::DescribeLayers(std::span<const LayerFacts> layers, LayerTimes times) {
  if (!wants_layers()) return;
  profiler_.impl_->layers.Describe(layers, times);
}

void DelegateCall::ReportLayers(std::span<const int64_t> ns, const LayerReport& report) {
  if (!wants_layers()) return;
  DelegateProfiler::Impl& it = *profiler_.impl_;
  MetadataText metadata;
  metadata.Text(R"({"kind":"host_wall","calls":)").Number(report.calls);
  metadata.Text(R"(,"unit_ns":)").Number(static_cast<uint64_t>(report.unit_ns));
  metadata.Text(R"(,"covered":)").Number(report.covered);
  it.emitter.End(&it.report, metadata.Text("}").view(), report.calls);
  it.layers.NoteReport(report);
  const std::span<delegate::Layer> layers = it.layers.layers();
  const bool to_file = it.effective.format != ProfileFormat::kEtdump;
  int64_t after_ns = 0;
  for (size_t i = 0; i < std::min(layers.size(), ns.size()); ++i) {
    if (ns[i] < 0) continue;
    delegate::Layer& layer = layers[i];
    layer.total_ns += ns[i];
    ++layer.reports;
    if (to_file) {
      if (it.log() != nullptr) it.log()->AddLayer(static_cast<uint32_t>(i), ns[i]);  // a timeline
    } else {
      it.emitter.Log(layer.name, after_ns, ns[i], layer.metadata);
    }
    after_ns += ns[i];
  }
}

struct DelegateLoad::Impl {
  EventName name;
  Emitter emitter;
  Emitter::Open open;
};

DelegateLoad::DelegateLoad(std::string_view prefix, ProfileLevel level, EventSink* sink) {
  if (level == ProfileLevel::kOff) return;
  auto impl = std::make_unique<Impl>();
  if (!impl->emitter.Choose(sink, nullptr)) return;
  impl->name = EventName(std::string(prefix) + ".delegate_load");
  impl->emitter.Begin(impl->name, 0, &impl->open);
  impl_ = std::move(impl);
}

DelegateLoad::~DelegateLoad() {
  if (impl_ != nullptr) impl_->emitter.End(&impl_->open, kHostWall);
}

}  // namespace inferprobe
