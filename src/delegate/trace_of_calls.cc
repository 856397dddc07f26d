#include "delegate/trace_of_calls.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/thread_identity.h"
#include "inferprobe/clock.h"

namespace inferprobe::delegate {
namespace {

constexpr uint16_t kHost = 0;
constexpr uint16_t kLayers = 1;
constexpr uint16_t kDevice = 2;

}  // namespace

TraceOfCalls::TraceOfCalls(const std::string& engine_id, const std::string& device_clock) {
  profile_.process_name = base::ProgramName();
  profile_.run_id = base::RandomHex128();
  const ClockCalibration& clock = Clock();
  profile_.clock.source = clock.tsc ? "tsc" : "clock_gettime";
  profile_.clock.realtime_minus_monotonic_ns = clock.realtime_minus_monotonic_ns;
  profile_.clock.boottime_minus_monotonic_ns = clock.boottime_minus_monotonic_ns;
  profile::Track host;
  host.name = "calls of " + engine_id;
  host.pid = base::ProcessId();
  host.tid = base::ThreadId();
  profile_.tracks.push_back(host);
  profile::Track engine = host;
  engine.name = "layers of " + engine_id + " (engine-reported, start times not measured)";
  engine.type = profile::TrackType::kEngine;
  engine.kind = profile::Kind::kEngineReported;
  engine.tid = 0;
  engine.parent = kHost;
  profile_.tracks.push_back(engine);
  if (device_clock.empty()) return;
  engine.name = "device times of " + engine_id + " (device, " + device_clock + ")";
  engine.kind = profile::Kind::kDevice;
  profile_.tracks.push_back(engine);
}

uint32_t TraceOfCalls::ArgsOf(const std::string& note) {
  const auto [at, fresh] = args_.try_emplace(note, profile::kNone);
  if (fresh) {
    profile::SliceArgs args;
    args.metadata = static_cast<uint32_t>(profile_.metadata.size());
    profile_.metadata.push_back(note);
    at->second = profile_.AddArgs(args);
  }
  return at->second;
}

void TraceOfCalls::AddLayer(std::string_view name, const std::string& note) {
  layer_names_.push_back(profile_.strings.Intern(base::RepairUtf8(name).text));
  layer_args_.push_back(ArgsOf(note));
}

void TraceOfCalls::Extend(uint32_t call, int64_t start_ns, int64_t end_ns) {
  const auto [at, fresh] = calls_.try_emplace(call);
  Call& it = at->second;
  if (fresh) {
    it.first_slice = static_cast<uint32_t>(profile_.slices.size());
    it.start_ns = start_ns;
  }
  ++it.slices;
  it.start_ns = std::min(it.start_ns, start_ns);
  it.end_ns = std::max(it.end_ns, end_ns);
}

void TraceOfCalls::PutHost(uint32_t call, const std::string& name, uint64_t start, uint64_t end,
                           const std::string& note, bool whole) {
  profile::Slice slice;
  slice.start_ns = Clock().ToNs(start);
  slice.dur_ns = std::max<int64_t>(Clock().ToNs(end) - slice.start_ns, 0);
  slice.name = profile_.strings.Intern(name);
  slice.track = kHost;
  slice.category = profile::Category::kOther;
  slice.args = ArgsOf(note);
  Extend(call, slice.start_ns, slice.start_ns + slice.dur_ns);
  const auto index = static_cast<uint32_t>(profile_.slices.size());
  if (whole) {
    for (const uint32_t inner : inside_) profile_.slices[inner].parent = index;
    inside_.clear();
    ended_ = call;
    whole_ = index;
  } else if (call != ended_) {  // what follows the whole call is beside it
    inside_.push_back(index);
  }
  profile_.slices.push_back(slice);
}

void TraceOfCalls::PutLayer(uint32_t call, uint32_t layer, uint64_t call_start, int64_t ns) {
  if (layer >= layer_names_.size()) return;
  auto [at, fresh] = layer_at_.try_emplace(call, Clock().ToNs(call_start));
  profile::Slice slice;
  slice.start_ns = at->second;
  slice.dur_ns = ns;
  at->second += ns;
  slice.name = layer_names_[layer];
  slice.track = kLayers;
  if (call == ended_) slice.parent = whole_;
  slice.category = profile::Category::kDelegateOp;
  slice.args = layer_args_[layer];
  if (const auto known = calls_.find(call); known != calls_.end()) ++known->second.slices;
  profile_.slices.push_back(slice);
}

void TraceOfCalls::PutDevice(const std::string& name, uint64_t call_start, int64_t ns,
                             const std::string& note) {
  profile::Slice slice;
  slice.start_ns = Clock().ToNs(call_start);
  slice.dur_ns = ns;
  slice.name = profile_.strings.Intern(name);
  slice.track = kDevice;
  slice.category = profile::Category::kDelegateOp;
  slice.args = ArgsOf(note);
  if (!calls_.empty()) ++calls_.rbegin()->second.slices;
  profile_.slices.push_back(slice);
}

profile::Profile& TraceOfCalls::Finish(bool runs) {
  if (!runs) return profile_;
  profile_.runs_marked = true;
  for (const auto& [number, call] : calls_) {
    profile::Run run;
    run.mode = profile::RunMode::kProfiled;
    run.start_ns = call.start_ns;
    run.dur_ns = call.end_ns - call.start_ns;
    run.first_slice = call.first_slice;
    run.slice_count = call.slices;
    profile_.runs.push_back(run);
  }
  return profile_;
}

}  // namespace inferprobe::delegate
