// What `inferprobe.profile` recorded, and results made of it: module calls out of the rings,
// torch's operators from its columns, both in one model, which is analysed as any other recording.
//
//   auto recording = ModuleRecording::Start(capacity);      // one for all profiles of a process
//   Window window = (*recording)->Open();
//   ...
//   (*recording)->Close(&window);
//   ModuleProfile profile = (*recording)->Make(window, request);
//
// The rule that people break: profiles of one process share the recording. What a profile shows is
// what began and ended inside of its window, of its own modules.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inferprobe/recorder.h"
#include "profile/clock_fit.h"
#include "profile/recording.h"
#include "profile/result.h"
#include "profile/ring_import.h"

namespace inferprobe::python {

// When a profile was entered and left, and what was lost meanwhile.
struct Window {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  profile::LossCounts losses;  // before Close(): until Open()
  uint64_t calls_outside = 0;
};

// Columns of python/inferprobe/_torch_profiler.py, in torch's time. All of one kind are of one
// size.
struct OperatorColumns {
  std::vector<std::string> names;
  std::span<const int64_t> start_ns, end_ns, thread_id;
  std::span<const uint32_t> name;
  std::span<const int64_t> allocation_ns, allocation_bytes, allocation_thread;
  std::span<const int8_t> allocation_device;
  std::span<const int64_t> work_start_ns, work_end_ns;
  std::span<const uint32_t> work_name, work_stream, work_operator;
  std::span<const int64_t> pairs;  // before, after, torch's, and so on

  // From torch's clock to ours; nullopt: they never agreed.
  [[nodiscard]] std::optional<profile::ClockFit> Clock() const;
};

constexpr uint32_t kNotWatched = 0xFFFFFFFF;

struct ProfileRequest {
  profile::ModelFacts model;
  profile::EngineFacts engine;
  std::vector<uint32_t> numbers;  // in the cells, of each module of the tree
  const OperatorColumns* operators = nullptr;
};

// A finished profile.
struct ModuleProfile {
  profile::Recording recording;
  profile::PerfResult result;

  [[nodiscard]] std::string Text(bool show_events) const;
  [[nodiscard]] Result<void> SaveTrace(const std::string& path, bool force) const;
};

class ModuleRecording {
 public:
  static Result<std::unique_ptr<ModuleRecording>> Start(uint32_t capacity);

  Window Open();
  void Close(Window* window);
  // Numbers of the modules that were called in the window, each once.
  [[nodiscard]] std::vector<uint32_t> Called(const Window& window) const;
  [[nodiscard]] ModuleProfile Make(const Window& window, ProfileRequest request) const;
  // Gives the rings back. What was recorded stays.
  void Stop();

 private:
  explicit ModuleRecording(Recorder recorder) : recorder_(std::move(recorder)) {}
  void Drain();  // with the lock

  Recorder recorder_;
  mutable std::mutex mutex_;  // of profile_ and importer_: Make() runs without the GIL
  profile::Profile profile_;
  std::unique_ptr<profile::RingImporter> importer_;
  bool stopped_ = false;
};

}  // namespace inferprobe::python
