// For tests: a place where threads wait for each other, so that a test decides who does what, and
// not the machine's speed.
#pragma once

#include <condition_variable>
#include <mutex>

namespace inferprobe::regions {

class Gate {
 public:
  void Arrive() {
    const std::lock_guard lock(mutex_);
    ++arrived_;
    changed_.notify_all();
  }
  // Until `count` have arrived.
  void WaitFor(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void ArriveAndWaitFor(int count) {
    Arrive();
    WaitFor(count);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
};

}  // namespace inferprobe::regions
