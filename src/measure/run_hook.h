// What wants to know about measured runs: the disturbance ledger, later counters and trace
// collectors. Hooks are called outside the timed part of a run.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "profile/model.h"

namespace inferprobe::measure {

class RunHook {
 public:
  virtual ~RunHook() = default;
  virtual void BeforeRun(profile::RunMode /*mode*/) {}
  virtual void AfterRun(profile::RunMode /*mode*/) {}
  // The engine and everything that it held are gone; collectors still run.
  virtual void EngineReleased() {}
};

// Releases the engine when it goes out of scope, and tells the hooks after that.
class EngineRelease {
 public:
  EngineRelease(std::function<void()> release, std::vector<RunHook*> hooks)
      : release_(std::move(release)), hooks_(std::move(hooks)) {}
  EngineRelease(const EngineRelease&) = delete;
  EngineRelease& operator=(const EngineRelease&) = delete;
  ~EngineRelease() {
    release_();
    for (RunHook* hook : hooks_) hook->EngineReleased();
  }

 private:
  std::function<void()> release_;
  std::vector<RunHook*> hooks_;
};

}  // namespace inferprobe::measure
