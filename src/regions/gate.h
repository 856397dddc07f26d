// For tests: places where threads wait for each other, so that a test decides who does what, and
// not the machine's speed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "inferprobe/parallel_for.h"

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

// Both threads of an executor of two, in a loop of another caller's until they are let go.
class Held {
 public:
  explicit Held(const ExecutorView& view)
      : holder_([this, view] {
          ParallelFor(view, 2, 1, [this](int64_t, int64_t) {
            here_.Arrive();
            release_.WaitFor(1);
          });
        }) {
    here_.WaitFor(2);
  }
  ~Held() { LetGo(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void Release() { release_.Arrive(); }
  // And waits until the loop has ended.
  void LetGo() {
    Release();
    if (holder_.joinable()) holder_.join();
  }

 private:
  Gate here_;
  Gate release_;
  std::thread holder_;
};

}  // namespace inferprobe::regions
