// The files of one engine beside the program's own trace. They are named and checked when profiling
// begins, and written when it ends: each to a temporary, then renamed.
//
//   <folder>/<model>.<method>.<engine id>.{trace,layers}.<ext>    a method's own settings
//   <folder>/<engine id>.{engine,input,output,enqueue}.<ext>      the process-wide switch
//
// What an engine writes later (the switch was off and on again) has `.window2` behind its id.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "delegate/event_log.h"
#include "delegate/layer_table.h"
#include "inferprobe/config.h"
#include "inferprobe/delegate.h"

namespace inferprobe::delegate {

enum class SidecarOf : uint8_t { kMethod, kProcess };

class Sidecar {
 public:
  struct Facts {
    SidecarOf of = SidecarOf::kMethod;
    std::string prefix;  // of the keys
    std::string engine_id;
    std::string engine;
    std::string engine_version;
    std::string method;
    ProfileConfig config;
    bool has_layers = false;               // the engine reports layers
    uint32_t window = 1;                   // files that this engine wrote before, and one
    std::vector<std::string> event_names;  // by their number in the log
    uint32_t whole_call = 0;               // which of them is what
    uint32_t layer_report = 0;
    uint32_t device = 0;
    std::string device_clock;
  };

  // Refuses a folder that is not there, and files that exist.
  static Result<Sidecar> Open(Facts facts);

  [[nodiscard]] EventLog* log() { return &log_; }
  [[nodiscard]] uint32_t calls() const { return log_.calls(); }
  // Nothing was recorded: nothing is written, and the answer is false.
  Result<bool> Write(const LayerTable& layers) const;

 private:
  // Which of the events a file holds; the layers are in `kLayers`, and in a timeline.
  enum class Part : uint8_t { kTimeline, kPhases, kLayers, kInput, kOutput, kEnqueue };
  struct File {
    std::string path;
    Part part;
  };

  explicit Sidecar(Facts facts)
      : facts_(std::move(facts)), log_(facts_.config.format == ProfileFormat::kPerfetto) {}
  [[nodiscard]] std::vector<File> Files() const;
  [[nodiscard]] Result<void> CheckNew(const std::string& path) const;
  [[nodiscard]] bool Holds(Part part, uint32_t name) const;
  [[nodiscard]] std::string NoteOf(const EventLog::Event& event, int64_t unit_ns) const;
  [[nodiscard]] Result<void> WriteTrace(const File& file, const LayerTable& layers) const;
  [[nodiscard]] Result<void> WriteTrex(const File& file, const LayerTable& layers) const;
  [[nodiscard]] base::Overwrite overwrite() const {
    return facts_.config.overwrite ? base::Overwrite::kForce : base::Overwrite::kRefuse;
  }

  Facts facts_;
  EventLog log_;
};

}  // namespace inferprobe::delegate
