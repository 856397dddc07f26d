#include "base/signals.h"

#include <csignal>

#include "base/unfinished_files.h"

namespace inferprobe::base {
namespace {

std::atomic<std::atomic<bool>*> g_flag{nullptr};

void OnInterrupt(int signal) {
  if (std::atomic<bool>* flag = g_flag.load()) flag->store(true);
  // `timeout` and service managers send SIGTERM to the process and to its group: twice.
  if (signal == SIGINT) std::signal(signal, SIG_DFL);
}

void OnEnd(int signal) {
  RemoveUnfinishedFiles();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Who started us may want a signal ignored (a shell's background job, nohup).
void Handle(int signal, void (*handler)(int)) {
  if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
}

}  // namespace

void SetOnInterrupt(std::atomic<bool>* flag) {
  g_flag.store(flag);
  for (const int signal : {SIGINT, SIGTERM}) Handle(signal, OnInterrupt);
}

void RemoveUnfinishedOnInterrupt() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) Handle(signal, OnEnd);
}

void TurnSizeSignalIntoErrors() { std::signal(SIGXFSZ, SIG_IGN); }

void TurnWriteSignalsIntoErrors() {
  std::signal(SIGPIPE, SIG_IGN);
  TurnSizeSignalIntoErrors();
}

}  // namespace inferprobe::base
