#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/files.h"

namespace inferprobe::base {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Everything that the child needs, laid out before fork(): between fork() and exec() in a process
// with threads only async-signal-safe calls are allowed, so no allocation.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* working_directory;  // nullptr: stay
  pid_t parent;
  int output_fd;
  int error_fd;  // where errno goes when exec fails; close-on-exec
  int null_fd;
  std::vector<SpawnOptions::PassedFd> fds;
  std::vector<int> moved;  // as many as fds
  int first_free;          // above every child_fd
  bool ignore_interrupt;
  rlim_t max_fds;
};

// Marks every descriptor from 3 on as close-on-exec.
void CloseOnExecFrom3(rlim_t max_fds) {
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = 3; static_cast<rlim_t>(fd) < max_fds; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void FailChild(const ChildPlan& plan) {
  const int error = errno;
  (void)!write(plan.error_fd, &error, sizeof(error));
  _exit(127);
}

[[noreturn]] void RunChild(ChildPlan& plan) {
  // The parent may have died before prctl: then the signal never comes.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);

  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &action, nullptr);  // Python ignores it, and exec() would pass that on
  action.sa_handler = plan.ignore_interrupt ? SIG_IGN : SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  // Out of the way first: one's number in the child may be another's number here.
  const int error_fd = fcntl(plan.error_fd, F_DUPFD_CLOEXEC, plan.first_free);
  if (error_fd < 0) FailChild(plan);
  plan.error_fd = error_fd;
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    plan.moved[i] = fcntl(plan.fds[i].fd, F_DUPFD_CLOEXEC, plan.first_free);
    if (plan.moved[i] < 0) FailChild(plan);
  }
  if (dup2(plan.null_fd, 0) < 0 || dup2(plan.output_fd, 1) < 0 || dup2(plan.output_fd, 2) < 0) {
    FailChild(plan);
  }
  CloseOnExecFrom3(plan.max_fds);
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    if (dup2(plan.moved[i], plan.fds[i].child_fd) < 0) FailChild(plan);
  }
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0) FailChild(plan);
  execve(plan.program, plan.argv, plan.envp);
  FailChild(plan);
}

std::vector<std::string> MakeEnvironment(
    const std::vector<std::pair<std::string, std::string>>& extra) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(extra.begin(), extra.end(),
                                      [&](const auto& pair) { return pair.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

tl::unexpected<Error> CannotStart(const SpawnOptions& options, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return MakeError(code,
                   fmt::format("cannot start {}: {}", options.program, SystemErrorText(error)));
}

// Above the standard three, even in a process that was started without them.
int AboveStandard(int fd) {
  if (fd < 0 || fd > 2) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  close(fd);
  return high;
}

Result<void> OpenPipe(OwnedFd* reading, OwnedFd* writing) {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot create a pipe: {}", SystemErrorText(errno)));
  }
  reading->Reset(AboveStandard(fds[0]));
  writing->Reset(AboveStandard(fds[1]));
  return {};
}

ProcessExit DecodeStatus(int status) {
  ProcessExit result;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace

std::string ProcessExit::Text() const {
  if (killed_for_hanging) return "did not end in time and was killed";
  if (signal == 0) return fmt::format("exited with {}", exit_code);
  const char* name = sigdescr_np(signal);
  return name != nullptr ? fmt::format("killed by signal {} ({})", signal, name)
                         : fmt::format("killed by signal {}", signal);
}

Result<Process> Process::Spawn(const SpawnOptions& options) {
  int first_free = 3;
  for (const auto& passed : options.fds) {
    if (passed.child_fd < 3) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("descriptor {} of a child is its own", passed.child_fd));
    }
    first_free = std::max(first_free, passed.child_fd + 1);
  }

  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.args.begin(), options.args.end());
  std::vector<std::string> environment = MakeEnvironment(options.extra_env);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);

  Process process;
  OwnedFd output_writer;
  OwnedFd error_reader;
  OwnedFd error_writer;
  INFERPROBE_RETURN_IF_ERROR(OpenPipe(&process.output_fd_, &output_writer));
  INFERPROBE_RETURN_IF_ERROR(OpenPipe(&error_reader, &error_writer));
  fcntl(process.output_fd_.get(), F_SETFL, O_NONBLOCK);
  const OwnedFd null_fd(AboveStandard(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  if (!null_fd.valid()) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot start {}: cannot open /dev/null: {}",
                                                 options.program, SystemErrorText(errno)));
  }
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);

  ChildPlan plan{.program = options.program.c_str(),
                 .argv = argv.data(),
                 .envp = envp.data(),
                 .working_directory = options.working_directory.empty()
                                          ? nullptr
                                          : options.working_directory.c_str(),
                 .parent = getpid(),
                 .output_fd = output_writer.get(),
                 .error_fd = error_writer.get(),
                 .null_fd = null_fd.get(),
                 .fds = options.fds,
                 .moved = std::vector<int>(options.fds.size(), -1),
                 .first_free = first_free,
                 .ignore_interrupt = options.ignore_interrupt,
                 .max_fds = std::min<rlim_t>(limit.rlim_cur, 1 << 16)};

  // This process's signal handlers must not run in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  process.pid_ = fork();
  if (process.pid_ == 0) RunChild(plan);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process.pid_ < 0) return CannotStart(options, fork_error);

  process.pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, process.pid_, 0)));
  output_writer.Reset();
  error_writer.Reset();
  int error = 0;
  ssize_t n = 0;
  do {
    n = read(error_reader.get(), &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n == sizeof(error)) return CannotStart(options, error);  // ~Process reaps
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      output_fd_(std::move(other.output_fd_)),
      output_(std::move(other.output_)),
      output_dropped_(other.output_dropped_),
      exit_(other.exit_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  KillAndReap();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  output_fd_ = std::move(other.output_fd_);
  output_ = std::move(other.output_);
  output_dropped_ = other.output_dropped_;
  exit_ = other.exit_;
  return *this;
}

Process::~Process() { KillAndReap(); }

void Process::KillAndReap() {
  if (pid_ < 0 || exit_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Process::Kill(int signal) {
  // Until it is reaped, its number cannot become another process's.
  if (pid_ > 0 && !exit_) kill(pid_, signal);
}

bool Process::Stopped() const {
  if (pid_ < 0 || exit_) return false;
  siginfo_t info = {};
  // WNOWAIT: the next question gets the same answer.
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_ && info.si_code == CLD_STOPPED;
}

void Process::DrainOutput() {
  std::array<char, 8192> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  while (output_fd_.valid()) {
    const ssize_t n = read(output_fd_.get(), chunk.data(), chunk.size());
    if (n > 0) {
      output_.append(chunk.data(), static_cast<size_t>(n));
      if (output_.size() > kOutputBytes) {
        const size_t surplus = output_.size() - kOutputBytes;
        output_.erase(0, surplus);
        output_dropped_ += surplus;
      }
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN) {
      return;
    } else {
      output_fd_.Reset();
    }
  }
}

Result<ProcessExit> Process::Wait() {
  auto polled = Poll(-1);
  if (!polled) return tl::unexpected(polled.error());
  return **polled;
}

Result<ProcessExit> Process::WaitOrKill(int timeout_ms) {
  auto ended = Poll(std::max(timeout_ms, 0));
  if (!ended) return tl::unexpected(ended.error());
  if (*ended) return **ended;
  Kill(SIGKILL);
  auto killed = Wait();
  // It may have ended by itself in between.
  if (killed && killed->signal == SIGKILL) exit_->killed_for_hanging = true;
  return Wait();
}

Result<std::optional<ProcessExit>> Process::Poll(int timeout_ms) {
  const auto start = SteadyClock::now();
  while (true) {
    if (exit_) return exit_;
    if (pid_ < 0) return MakeError(ErrorCode::kInternal, "waiting for a process that was moved");
    int status = 0;
    const pid_t reaped = waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) {
      DrainOutput();  // what it wrote last
      exit_ = DecodeStatus(status);
      return exit_;
    }
    if (reaped < 0 && errno != EINTR) {
      return MakeError(ErrorCode::kIo,
                       fmt::format("cannot wait for a process: {}", SystemErrorText(errno)));
    }
    DrainOutput();

    int64_t left = -1;
    if (timeout_ms >= 0) {
      const auto spent =
          std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
      left = timeout_ms - spent.count();
      if (left <= 0) return std::optional<ProcessExit>();
    }
    // Without a pidfd nothing wakes us when it ends: look again every 10 ms.
    if (!pidfd_.valid()) left = left < 0 ? 10 : std::min<int64_t>(left, 10);
    std::array<pollfd, 2> fds{pollfd{pidfd_.get(), POLLIN, 0}, pollfd{output_fd_.get(), POLLIN, 0}};
    poll(fds.data(), fds.size(), static_cast<int>(left));
  }
}

}  // namespace inferprobe::base
