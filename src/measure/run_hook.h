// What wants to know about measured runs: the disturbance ledger, later counters and trace
// collectors. Hooks are called outside the timed part of a run.
#pragma once

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

}  // namespace inferprobe::measure
