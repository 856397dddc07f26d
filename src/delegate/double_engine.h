// For tests: an engine on a device that does not exist here. A stream of work that is over when it
// is waited for, pairs of device events, and a count of everything that is done to them. And a
// tracer that keeps what it is told.
//
// It keeps the contract of a CUDA stream: work is in flight from Enqueue() until a wait, on a
// thread of its own; an event pair has a duration only then. An engine that is freed with work in
// flight ends the program, as it would a device's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "inferprobe/delegate.h"

namespace inferprobe::delegate {

class RecordingSink final : public EventSink {
 public:
  struct Event {
    std::string name;
    std::string metadata;
    size_t depth = 0;
    uint64_t start = 0;
    uint64_t end = 0;
  };
  virtual ~RecordingSink() = default;

  void Begin(const char* name, Token* token) override {
    ++begun;
    token->words[0] = static_cast<int64_t>(events.size());
    events.push_back({name, "", depth_++, 0, 0});
  }
  void End(const Token& token, std::string_view metadata) override {
    events[static_cast<size_t>(token.words[0])].metadata = metadata;
    --depth_;
  }
  void Log(const char* name, uint64_t start, uint64_t end, std::string_view metadata) override {
    events.push_back({name, std::string(metadata), depth_, start, end});
  }
  [[nodiscard]] uint64_t Now() const override { return 1000; }
  [[nodiscard]] uint64_t TicksOf(int64_t ns) const override { return static_cast<uint64_t>(ns); }

  // "openvino.delegate openvino.input_binding ..."
  [[nodiscard]] std::string Names() const {
    std::string names;
    for (const Event& event : events) names += (names.empty() ? "" : " ") + event.name;
    return names;
  }
  [[nodiscard]] const Event* Find(std::string_view name) const {
    for (const Event& event : events) {
      if (event.name == name) return &event;
    }
    return nullptr;
  }

  std::vector<Event> events;
  uint64_t begun = 0;

 private:
  size_t depth_ = 0;
};

class DoubleEngine final : public EngineHooks {
 public:
  enum class Way : uint8_t { kBlocking, kStaged, kAsynchronous };

  // One inference of the double: `output[0] = input[0] + 1`, like an engine that was handed both.
  void Execute(DelegateProfiler* profiler, EventSink* sink, Way way, float* data) {
    DelegateCall call(profiler, sink);
    if (work_.joinable()) {  // the contract: one call of an engine at a time on its stream
      Wait();
      call.Waited();
    }
    {
      const PhaseScope phase(call, Phase::kInputBinding);
      input_ = data;
    }
    {
      const PhaseScope phase(call, Phase::kShapeInference);
    }
    {
      const PhaseScope phase(call, Phase::kOutputBinding);
      output_ = data;  // an alias: state of the caller's, updated in place
    }
    if (way == Way::kBlocking) {
      const PhaseScope phase(call, Phase::kInferHost);
      Enqueue(-1);
      Wait();
    } else {
      const PhaseScope phase(call, Phase::kEnqueueHost);
      Enqueue(call.OpenDevicePair());
    }
    if (way == Way::kStaged) {
      {
        const PhaseScope phase(call, Phase::kSynchronize);
        Wait();
      }
      call.Waited();
      const PhaseScope phase(call, Phase::kOutputStaging);
    }
    call.Finish(way == Way::kBlocking ? CallMode::kBlocking
                : way == Way::kStaged ? CallMode::kSynchronized
                                      : CallMode::kAsynchronous);
    if (call.wants_layers()) {
      call.BeginLayers();
      if (!described_) {
        call.DescribeLayers(layers, LayerTimes::kPerRun);
        described_ = true;
      }
      call.ReportLayers(layer_ns, {executed, 1});
    }
  }

  Result<void> AttachLayers() override {
    if (fail_attach) return MakeError(ErrorCode::kEngine, "the double refuses");
    ++attached;
    described_ = false;
    attached_in_flight = attached_in_flight || work_.joinable();
    return {};
  }
  void DetachLayers() override { ++detached; }
  void WaitUntilIdle() override {
    ++idle_waits;
    if (work_.joinable()) Wait();
  }
  Result<int64_t> DeviceNs(int slot) override {
    const auto found = device_ns_.find(slot);
    if (fail_device_events) {
      device_ns_.erase(slot);
      return MakeError(ErrorCode::kEngine, "the double has no time");
    }
    if (found == device_ns_.end()) return -1;
    const int64_t ns = found->second;
    device_ns_.erase(found);
    return ns;
  }
  [[nodiscard]] const char* DeviceClock() const override { return "double event"; }

  std::vector<LayerFacts> layers = {{"conv", "Convolution", "jit"}, {"relu", "Relu", ""}};
  std::vector<int64_t> layer_ns = {3000, 1000};
  bool fail_attach = false;
  bool lose_device_events = false;
  bool fail_device_events = false;
  uint64_t executed = 0;
  uint64_t synchronizations = 0;  // waits that the double's own contract makes
  uint64_t idle_waits = 0;        // that the kit asked for
  uint64_t attached = 0;
  uint64_t detached = 0;
  bool attached_in_flight = false;

 private:
  void Enqueue(int slot) {
    ++executed;
    slot_ = slot;
    work_ = std::thread([this] { *output_ = *input_ + 1; });
  }
  void Wait() {
    ++synchronizations;
    work_.join();
    if (slot_ >= 0 && !lose_device_events) device_ns_[slot_] = static_cast<int64_t>(executed) * 100;
  }

  std::thread work_;
  bool described_ = false;
  int slot_ = -1;
  float* input_ = nullptr;
  float* output_ = nullptr;
  std::map<int, int64_t> device_ns_;
};

}  // namespace inferprobe::delegate
