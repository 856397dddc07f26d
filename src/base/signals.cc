#include "base/signals.h"

#include <csignal>

namespace inferprobe::base {
namespace {

std::atomic<std::atomic<bool>*> g_flag{nullptr};

void OnInterrupt(int signal) {
  if (std::atomic<bool>* flag = g_flag.load()) flag->store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

void SetOnInterrupt(std::atomic<bool>* flag) {
  g_flag.store(flag);
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
}

void TurnWriteSignalsIntoErrors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace inferprobe::base
