#include "base/thread_identity.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <pthread.h>
#include <unistd.h>

#include "base/files.h"
#endif

namespace inferprobe::base {

#if defined(_WIN32)
int64_t ProcessId() { return GetCurrentProcessId(); }
int64_t ThreadId() { return GetCurrentThreadId(); }
void OnFork(void (*)(), void (*)(), void (*)()) {}  // there is none
#else
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
#endif

}  // namespace inferprobe::base
