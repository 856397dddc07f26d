// A child process that never outlives its parent and never passes unnoticed: it is killed when the
// object (or the parent) goes, it inherits only the descriptors it was given, and what it writes to
// stdout and stderr is kept for the report of its death.
//
//   auto child = Process::Spawn({.program = ExecutablePath(), .args = {"worker"},
//                                .fds = {{channel_fd, 3}}});
//   auto reply = channel.Receive(1000, &*child);    // keeps draining the child's stderr
//   auto exit = child->Wait();
//   if (exit && !exit->ok()) Report(exit->Text(), child->Output());
//
// The rules that people break: the kernel ties "dies with its parent" to the *thread* that called
// Spawn(), so that thread must live as long as the child. And somebody must drain the child's
// output while waiting for it (Receive with the process, Wait, DrainOutput), or a talkative child
// blocks on a full pipe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "inferprobe/result.h"

namespace inferprobe::base {

struct SpawnOptions {
  std::string program;            // a path; no search in $PATH
  std::vector<std::string> args;  // without argv[0]
  struct PassedFd {
    int fd;        // here; stays open here
    int child_fd;  // its number in the child, 3 or more
  };
  std::vector<PassedFd> fds;
  std::vector<std::pair<std::string, std::string>> extra_env;  // replaces variables of that name
  std::string working_directory;                               // "": this process's
  // Ctrl-C in a terminal, and SIGTERM from `timeout` or a service manager, reach the whole group:
  // the child leaves both to its parent, who can end it in order, or with SIGKILL.
  bool ignore_interrupt = true;
};

struct ProcessExit {
  int exit_code = 0;  // when signal is 0
  int signal = 0;
  bool killed_for_hanging = false;  // by WaitOrKill
  [[nodiscard]] bool ok() const { return exit_code == 0 && signal == 0; }
  // "exited with 1", "killed by signal 11 (Segmentation fault)"
  [[nodiscard]] std::string Text() const;
};

class Process {
 public:
  // kNotFound or kIo when the program cannot be started: that is known when Spawn returns.
  static Result<Process> Spawn(const SpawnOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills (SIGKILL) and reaps

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Blocks until the child ends, draining its output. Later calls return the same.
  Result<ProcessExit> Wait();
  // The same for at most `timeout_ms`; nullopt: it still runs. 0 only looks.
  Result<std::optional<ProcessExit>> Poll(int timeout_ms = 0);
  // Waits at most that long, then kills it (SIGKILL).
  Result<ProcessExit> WaitOrKill(int timeout_ms);
  // Nothing happens when it has ended already.
  void Kill(int signal);
  // Whether a signal (SIGSTOP, Ctrl-Z) holds it now. Not held by a debugger.
  [[nodiscard]] bool Stopped() const;

  // The last 64 kB of what the child wrote to stderr and stdout, as far as it was drained.
  [[nodiscard]] const std::string& Output() const { return output_; }
  [[nodiscard]] uint64_t output_bytes_dropped() const { return output_dropped_; }
  // Takes what is there, without blocking.
  void DrainOutput();
  // For somebody else's poll(); -1 when the child has closed it.
  [[nodiscard]] int output_fd() const { return output_fd_.get(); }

  static constexpr size_t kOutputBytes = size_t{64} << 10;

 private:
  Process() = default;
  void KillAndReap();

  pid_t pid_ = -1;
  OwnedFd pidfd_;  // invalid on kernels before 5.3
  OwnedFd output_fd_;
  std::string output_;
  uint64_t output_dropped_ = 0;
  std::optional<ProcessExit> exit_;
};

}  // namespace inferprobe::base
