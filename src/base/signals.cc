#include "base/signals.h"

#include <csignal>

namespace inferprobe::base {
namespace {

std::atomic<std::atomic<bool>*> g_flag{nullptr};

void OnInterrupt(int signal) {
  if (std::atomic<bool>* flag = g_flag.load()) flag->store(true);
  // `timeout` and service managers send SIGTERM to the process and to its group: twice.
  if (signal == SIGINT) std::signal(signal, SIG_DFL);
}

}  // namespace

void SetOnInterrupt(std::atomic<bool>* flag) {
  g_flag.store(flag);
  for (const int signal : {SIGINT, SIGTERM}) {
    // Who started us may want it ignored (a shell's background job).
    if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

void TurnWriteSignalsIntoErrors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace inferprobe::base
