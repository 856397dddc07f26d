#include "base/thread_identity.h"

#include <pthread.h>
#include <unistd.h>

#include "base/files.h"

namespace inferprobe::base {

int64_t ProcessId() { return getpid(); }

int64_t ThreadId() { return gettid(); }

std::string ThreadName() {
  char name[64] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) return {};
  return name;
}

std::string ProgramName() {
  const std::string path = ExecutablePath();
  return path.substr(path.rfind('/') + 1);
}

void OnFork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  pthread_atfork(before, in_parent, in_child);
}

}  // namespace inferprobe::base
