// The recorder: where scopes go. One per process; off until Start().
//
//   auto recorder = inferprobe::Recorder::Start({.file = "run.ring"});
//   if (!recorder) { /* recorder.error().message says why */ }
//   ... INFERPROBE_SCOPE("work") ...
//   auto events = recorder->Drain();       // between runs, never during one
//
// Memory is allocated, and its pages touched, at Start and when a thread first records; after that
// recording neither allocates nor locks. A full ring drops the newest events and counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/clock.h"
#include "inferprobe/result.h"

namespace inferprobe {

struct RecorderOptions {
  // "": private memory. Otherwise a file that is mapped: it survives kill -9 of the process, and
  // `inferprobe show` reads it. An existing file is refused.
  std::string file{};
  int shared_fd = -1;                  // or: memory that a parent process made (overrides `file`)
  uint32_t events_per_thread = 65536;  // rounded up to a power of two; 32 bytes each
  uint32_t max_threads = 64;
  uint32_t name_bytes = 1 << 20;  // for the names of scopes
  std::string run_id{};           // "": a random one
  std::string process_name{};     // "": the program's
  // How much of a thread's ring is made present when it first records. 0: all of it, so that no
  // event ever costs a page fault. Otherwise the rest comes by a fault in 128 events, and a thread
  // takes what it needs. Of private memory only: elsewhere a page that cannot be had is a SIGBUS.
  uint32_t present_bytes_per_thread = 0;
};

// What was recorded: a scope of the program's own, or the inside of a model that an observed
// RuntimeSession ran.
enum class ScopeType : uint8_t {
  kUser,
  kSetInputs,
  kMethod,
  kOperatorCall,
  kKernel,
  kDelegateCall,
  kDelegateOp,  // as the delegate reported it afterwards: not host time, and its start is made up
  kOther,
};

// One finished scope, as Drain() gives it. Times are CLOCK_MONOTONIC ns.
struct RecordedScope {
  std::string_view name;  // valid as long as the process
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  int64_t tid = 0;
  uint32_t id = 0;      // unique within the thread
  uint32_t parent = 0;  // id of the enclosing scope of the same thread, 0: none
  ScopeType type = ScopeType::kUser;
  int32_t instruction = -1;  // of the model's program; -1: none
};

struct RecordedCounter {
  std::string_view name;
  int64_t time_ns = 0;
  double value = 0;
  int64_t tid = 0;
};

struct DrainedScopes {
  std::vector<RecordedScope> scopes;  // by thread, in order of their end
  std::vector<RecordedCounter> counters;
  uint64_t dropped = 0;  // events lost since the last drain, full rings
  uint64_t no_ring = 0;  // events of threads beyond max_threads, since Start
};

class INFERPROBE_API Recorder {
 public:
  // Fails with kAlreadyExists while another recorder is running in this process.
  static Result<Recorder> Start(const RecorderOptions& options = {});
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  ~Recorder();  // stops

  // Stops recording and gives the memory back; Drain() first. Threads inside a scope finish it into
  // nothing (with a file: into the file).
  void Stop();
  // Takes what finished since the last call out of all rings.
  DrainedScopes Drain();

  [[nodiscard]] const void* memory() const;
  [[nodiscard]] size_t memory_bytes() const;

 private:
  struct Impl;
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferprobe
