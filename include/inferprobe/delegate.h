// The kit for authors of delegates: phases as scopes with stable names, the engine's layers, device
// durations, sidecar files, settings. It knows no runtime; for ExecuTorch:
// inferprobe/executorch_delegate.h, which has a complete example.
//
//   // at load
//   auto profiler = inferprobe::DelegateProfiler::Create(std::move(options));
//   // in execute(), with the runtime's tracer as `sink` (or nullptr)
//   inferprobe::DelegateCall call(profiler.get(), sink);
//   {
//     inferprobe::PhaseScope phase(call, inferprobe::Phase::kInputBinding);
//     ... bind ...
//   }
//   call.Finish(inferprobe::CallMode::kBlocking);
//   if (call.wants_layers()) { call.BeginLayers(); ...; call.ReportLayers(times, facts); }
//
// Events go to the sink, else to our recorder, else nowhere; layers where ProfileConfig::format
// says. At level off, and where there is neither sink nor recorder nor sidecar, a call costs its
// lock and one load.
//
// The rule that people break: nothing here waits for a device. A device duration is fetched only in
// Waited(), which stands after a wait that the delegate does anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "inferprobe/config.h"
#include "inferprobe/result.h"

namespace inferprobe {

// Parts of a call on the host. One that an engine does not have is not recorded.
enum class Phase : uint8_t {
  kInputBinding,    // .input_binding: validation, binding, staging to the device
  kShapeInference,  // .shape_inference
  kOutputBinding,   // .output_binding: sizing, allocation choice, aliases, binding
  kEnqueueHost,     // .enqueue_host: launching, not device time
  kOutputStaging,   // .output_staging: copies back
  kSynchronize,     // .synchronize: a wait that the contract has anyway
  kInferHost,       // .infer_host: one blocking call that enqueues and waits
};
constexpr size_t kPhases = 7;
INFERPROBE_API const char* PhaseSuffix(Phase phase);  // ".input_binding"

// What a call's time is. Calls of different mode are never pooled.
enum class CallMode : uint8_t {
  kUnknown,       // of a delegate that nobody here has seen inside
  kBlocking,      // one call of the engine enqueues and waits
  kSynchronized,  // enqueued, and waited for before the call returned
  kAsynchronous,  // returned while work was in flight: host-visible time alone
};

// A runtime's tracer, as the kit sees it. Times of Log() are on the tracer's clock.
class EventSink {
 public:
  struct Token {
    int64_t words[4];
  };
  virtual void Begin(const char* name, Token* token) = 0;
  virtual void End(const Token& token, std::string_view metadata) = 0;
  virtual void Log(const char* name, uint64_t start, uint64_t end, std::string_view metadata) = 0;
  [[nodiscard]] virtual uint64_t Now() const = 0;
  [[nodiscard]] virtual uint64_t TicksOf(int64_t ns) const = 0;

 protected:
  ~EventSink() = default;
};

// What the kit asks of the delegate. All of it is called under the profiler's lock, between calls.
class INFERPROBE_API EngineHooks {
 public:
  virtual ~EngineHooks();
  // Makes the engine's context report its layers; at most once until DetachLayers().
  virtual Result<void> AttachLayers();
  virtual void DetachLayers() {}  // not at the end, when the context goes anyway
  // Waits until no call is in flight. Called before layers are attached or detached, and at the
  // end: never to time anything.
  virtual void WaitUntilIdle() {}
  // Duration of the pair of device events `slot`; negative: not over yet, ask after a later wait.
  // An error: why there is none. Never waits.
  virtual Result<int64_t> DeviceNs(int slot);
  [[nodiscard]] virtual const char* DeviceClock() const { return ""; }  // "cuda event"
};

struct DelegateOptions {
  std::string prefix;  // of events and keys: "openvino"
  std::string engine;  // "OpenVINO"
  std::string engine_version;
  std::string method;        // "forward"
  std::string content_hash;  // of the engine: EngineContentHash(its bytes)
  ProfileConfig config;
  ProfilePlace place;
  // The process-wide switch reaches it. False: nothing can be attached to it (an unmodified one).
  bool follows_process_wide = true;
  EngineHooks* hooks = nullptr;  // outlives the profiler; nullptr: no layers, no device
  // What goes wrong where nobody is there to be told: in a call, at the end.
  void (*log)(const char* message) = nullptr;
};

// The same for the same bytes, in every process.
INFERPROBE_API std::string EngineContentHash(std::span<const std::byte> bytes);

struct LayerFacts {
  std::string_view name;
  std::string_view type;
  std::string_view executed_as;  // "" where the engine does not say
};

enum class LayerTimes : uint8_t {
  kPerRun,         // the engine's own, of this run
  kOfRunningMean,  // computed from its mean since compile: consecutive values telescope
};

// Of one report of layers.
struct LayerReport {
  uint64_t calls = 0;    // inferences since compile, this one included
  int64_t unit_ns = 0;   // the engine's; 0: not known
  uint64_t covered = 1;  // calls that the times are of: those since the report before
};

struct DelegateStats {
  uint64_t calls = 0;  // that were profiled
  uint64_t layers_attached = 0;
  uint64_t device_results = 0;
  uint64_t device_missing = 0;  // never consumed, or the engine had none
  std::string device_missing_why;
  uint64_t sidecar_calls_left_out = 0;  // of timelines that were full
};

class DelegateProfiler;

// One call, from its first line to its last. Holds the engine's lock.
class INFERPROBE_API DelegateCall {
 public:
  // First applies a change of the process-wide switch: an event of its own, `.apply_config`.
  DelegateCall(DelegateProfiler* profiler, EventSink* sink);
  ~DelegateCall();  // a call without Finish() failed, and is marked so
  DelegateCall(const DelegateCall&) = delete;
  DelegateCall& operator=(const DelegateCall&) = delete;

  [[nodiscard]] bool wants_phases() const { return level_ >= ProfileLevel::kPhases; }
  [[nodiscard]] bool wants_layers() const { return level_ >= ProfileLevel::kLayers && layers_; }

  void BeginPhase(Phase phase);
  void EndPhase();
  // Ends the whole-call event.
  void Finish(CallMode mode);

  // Which of the delegate's pairs of device events to record around this call's work; -1: none.
  int OpenDevicePair();
  // After a wait that happens anyway: books what has come, to the calls that it belongs to.
  void Waited();

  // After Finish(). Reading layers has an event of its own, from here to ReportLayers().
  void BeginLayers();
  // Once, and when they change; `layers` may go afterwards. Allocates.
  void DescribeLayers(std::span<const LayerFacts> layers, LayerTimes times);
  // In the described order; -1: was not executed.
  void ReportLayers(std::span<const int64_t> ns, const LayerReport& report);

 private:
  // The state of the call is the profiler's: it holds one at a time.
  DelegateProfiler& profiler_;
  ProfileLevel level_ = ProfileLevel::kOff;
  bool layers_ = false;
};

class PhaseScope {
 public:
  PhaseScope(DelegateCall& call, Phase phase) : call_(call.wants_phases() ? &call : nullptr) {
    if (call_ != nullptr) call_->BeginPhase(phase);
  }
  ~PhaseScope() {
    if (call_ != nullptr) call_->EndPhase();
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  DelegateCall* call_;
};

// One loaded engine. Calls may come from any thread, one at a time each.
class INFERPROBE_API DelegateProfiler {
 public:
  // Attaches layers and checks the sidecars' folder where the settings ask for them. An error
  // leaves nothing behind.
  static Result<std::unique_ptr<DelegateProfiler>> Create(DelegateOptions options);
  ~DelegateProfiler();
  DelegateProfiler(const DelegateProfiler&) = delete;
  DelegateProfiler& operator=(const DelegateProfiler&) = delete;

  // For an owner of this one engine: level layers from its next call on, or back to its own.
  Result<void> EnableProfiling(bool enabled);
  Result<void> SetProfileFormat(std::string_view format);

  // Waits for what is in flight, books it, and writes the sidecars; nothing is profiled afterwards,
  // and the settings cannot be changed any more.
  // The destructor does it too, and has nobody to tell.
  Result<void> Close();

  [[nodiscard]] ProfileConfig config() const;   // as it holds now
  [[nodiscard]] std::string engine_id() const;  // "0123456789abcdef-0"; "" as long as it was off
  [[nodiscard]] DelegateStats stats() const;

 private:
  friend class DelegateCall;
  struct Impl;
  explicit DelegateProfiler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// `<prefix>.delegate_load`: what loading the engine took, from construction to destruction.
class INFERPROBE_API DelegateLoad {
 public:
  DelegateLoad(std::string_view prefix, ProfileLevel level, EventSink* sink);
  ~DelegateLoad();
  DelegateLoad(const DelegateLoad&) = delete;
  DelegateLoad& operator=(const DelegateLoad&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferprobe
