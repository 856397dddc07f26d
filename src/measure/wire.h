// What parent and worker say to each other: messages over a channel. The events themselves
// travel through the shared rings, so that they survive the worker.
//
//   parent                         worker
//   plan          ->
//                 <-  loaded       (facts; the program is in memory)
//                 <-  phase        (for the progress line)
//                 <-  drain        (rings are filling; the worker waits)
//   drained       ->
//                 <-  block        (what the machine did during a block of runs)
//                 <-  done | error
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "inferprobe/result.h"
#include "measure/engine.h"
#include "measure/perf.h"
#include "profile/disturbance.h"
#include "profile/facts.h"
#include "profile/result.h"

namespace inferprobe::measure {

struct PlanMessage {
  PerfOptions options;  // engine is filled in
  uint16_t process = 0;
  bool describe = false;  // only say what the engine is
};

struct DescribedMessage {
  std::string name, title, version;
  std::vector<BackendDescription> backends;
  std::vector<std::string> notes;
  profile::Metric<std::string> regions;
};

struct LoadedMessage {
  profile::ModelFacts model;
  profile::EngineFacts engine;
  profile::ClockFacts clock;
  profile::Metric<std::string> region_sources;  // where regions were asked for
  double event_cost_ns = 0;                     // calibrated cost of one recorded event
};

struct PhaseMessage {
  std::string phase;
  uint64_t done = 0;
  uint64_t total = 0;
  double seconds = 0;
};

struct DrainMessage {};
struct DrainedMessage {};

struct BlockMessage {
  profile::BlockReading reading;
};

struct DoneMessage {
  profile::ModelFacts model;  // as in `loaded`, with what only running it tells
  profile::MemoryFacts memory;
  profile::OutputCheck outputs;
  std::string unwritten_sidecar;  // why; "": all were written
};

struct ErrorMessage {
  Error error;
};

using Message = std::variant<PlanMessage, DescribedMessage, LoadedMessage, PhaseMessage,
                             DrainMessage, DrainedMessage, BlockMessage, DoneMessage, ErrorMessage>;

// Each carries the version of inferprobe that made it: a worker in Python may be of another
// installation, and one of another version is refused.
std::string Encode(const Message& message, std::string_view version = INFERPROBE_VERSION);
Result<Message> Decode(std::string_view bytes);

}  // namespace inferprobe::measure
