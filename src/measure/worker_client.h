// The parent's side of one worker process: starts it, gives it the plan, empties its rings when it
// asks, and keeps whatever it had published when it dies.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inferprobe/result.h"
#include "measure/perf.h"
#include "measure/wire.h"
#include "measure/worker_command.h"
#include "profile/model.h"
#include "profile/ring_import.h"

namespace inferprobe::measure {

// What one worker left, whether it ended well or not. The events are in the profile.
struct WorkerOutcome {
  int64_t pid = 0;
  std::optional<LoadedMessage> loaded;
  std::vector<profile::BlockReading> blocks;
  std::optional<DoneMessage> done;
  std::optional<Error> failure;  // the worker's own error, or its death
  bool died = false;             // by a signal or without a word
};

class WorkerClient {
 public:
  struct Sinks {
    // New slices, runs and counters are in the profile.
    std::function<Result<void>(const profile::DrainedRange&)> imported;
    std::function<void(const PhaseMessage&)> phase;
    // What the user must know while it is so.
    std::function<void(const std::string&)> notice;
  };

  // `cancel` may be null.
  WorkerClient(profile::Profile* profile, Sinks sinks, const std::atomic<bool>* cancel);

  // Runs one worker to its end. An error is one of ours (no memory, a trace that cannot be
  // written); a worker's failure is in the outcome.
  Result<WorkerOutcome> Run(const WorkerCommand& command, const PlanMessage& plan);

 private:
  profile::Profile* profile_;
  Sinks sinks_;
  const std::atomic<bool>* cancel_;
};

// What an engine says of itself, asked in a process of its own.
Result<DescribedMessage> DescribeEngine(const WorkerCommand& command, const std::string& engine);

}  // namespace inferprobe::measure
