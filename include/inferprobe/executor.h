// CpuExecutor: a pool of threads that runs loops. Boost.Asio's thread_pool does the threads.
//
//   inferprobe::CpuExecutor executor(4);                   // the caller and three threads
//   executor.Run(total, grain, [&](int64_t begin, int64_t end) { ... });
//
// Use inferprobe/parallel_for.h, which can also tell what the loop did.
//
// The rule that people break: the calling thread takes part, and a loop that is met inside a loop
// of the same executor runs on the thread that met it. Several threads may call Run() at once; they
// share the pool's threads.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "inferprobe/api.h"

namespace inferprobe {

class ParallelRegionCollector;

namespace regions {
struct Frame;
}

namespace internal {

// A reference to something that can be called with a range; lives as long as the call.
class RangeBody {
 public:
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, RangeBody>>>
  RangeBody(F&& fn) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using Called = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Called>) {
      object_ = reinterpret_cast<void*>(&fn);
      call_ = [](void* object, int64_t begin, int64_t end) {
        reinterpret_cast<Called*>(object)(begin, end);
      };
    } else {
      object_ = const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
      call_ = [](void* object, int64_t begin, int64_t end) {
        (*static_cast<Called*>(object))(begin, end);
      };
    }
  }
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};
}  // namespace internal

class INFERPROBE_API CpuExecutor {
 public:
  // `threads`: participants at most, the calling thread among them; 0 (or below): as many as the
  // machine has CPUs. Also the calling thread alone (1) is an executor. Where the system gives
  // fewer threads, threads() says how many it gave.
  // A process that is forked off has none of the threads: there its loops run on the caller.
  explicit CpuExecutor(int threads = 0);
  ~CpuExecutor();
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  [[nodiscard]] int threads() const;
  [[nodiscard]] uint64_t id() const;  // unique in the process, from 1

  // Calls body(begin, end) for all of [0, total), in chunks of `grain` (the last may be shorter;
  // below 1: 1) that the participants take one after the other. Returns when all have ended. What
  // the body throws is thrown here, the first of several; chunks that nobody took by then are not
  // run. `limit`: participants at most, 0 (or below): threads().
  void Run(int64_t total, int64_t grain, internal::RangeBody body, int limit = 0) {
    RunRange(total, grain, body, limit, nullptr);
  }

  // The same, telling `frame` who did what. For ParallelFor().
  void RunRange(int64_t total, int64_t grain, internal::RangeBody body, int limit,
                regions::Frame* frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What a run hands down to its loops: where they run, and who is told. It owns neither.
class ExecutorView {
 public:
  ExecutorView(CpuExecutor& executor)  // NOLINT(google-explicit-constructor)
      : executor_(&executor) {}
  ExecutorView(CpuExecutor& executor, ParallelRegionCollector* regions, int limit = 0)
      : executor_(&executor), regions_(regions), limit_(limit) {}

  [[nodiscard]] CpuExecutor& executor() const { return *executor_; }
  [[nodiscard]] ParallelRegionCollector* regions() const { return regions_; }
  [[nodiscard]] int limit() const { return limit_; }  // participants at most; 0: all

 private:
  CpuExecutor* executor_;
  ParallelRegionCollector* regions_ = nullptr;  // nullptr: nothing is looked at
  int limit_ = 0;
};

}  // namespace inferprobe
