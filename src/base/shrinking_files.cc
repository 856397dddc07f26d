#include "base/shrinking_files.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

namespace inferprobe::base {

// One of a list that only grows: the handler may walk it at any moment, without a lock. A mapping
// that is guarded no more leaves its place to the next.
struct GuardedMapping {
  std::atomic<bool> taken = false;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> bytes = 0;  // 0: nothing; written last, and taken back first
  std::atomic<uint64_t> missing = UINT64_MAX;
  GuardedMapping* next = nullptr;
};

namespace {

std::atomic<GuardedMapping*> g_mappings{nullptr};
struct sigaction g_previous = {};
uintptr_t g_page_bytes = 4096;

GuardedMapping* Find(uintptr_t address) {
  for (GuardedMapping* at = g_mappings.load(); at != nullptr; at = at->next) {
    const size_t bytes = at->bytes.load();
    const uintptr_t begin = at->begin.load();
    if (address >= begin && address - begin < bytes && at->bytes.load() == bytes) return at;
  }
  return nullptr;
}

bool MapZeros(void* first, size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
#ifdef __LP64__
  // Not through the C library: ThreadSanitizer takes its mmap() for a write of all these bytes, and
  // the reads of other threads for a race with it.
  return syscall(SYS_mmap, first, bytes, PROT_READ, kFlags, -1, 0) != -1;
#else
  return mmap(first, bytes, PROT_READ, kFlags, -1, 0) != MAP_FAILED;
#endif
}

// All from the page of the fault on: a file that is shorter there is so to its end.
bool ReadAsZeros(GuardedMapping* mapping, void* fault) {
  const size_t to_fault = reinterpret_cast<uintptr_t>(fault) - mapping->begin.load();
  const size_t at = to_fault / g_page_bytes * g_page_bytes;
  auto* const first = static_cast<std::byte*>(fault) - (to_fault - at);
  if (!MapZeros(first, mapping->bytes.load() - at)) return false;
  uint64_t before = mapping->missing.load();
  while (at < before && !mapping->missing.compare_exchange_weak(before, at)) {
  }
  return true;
}

// As the system does when there is no handler: a fault comes again as soon as this returns.
void EndAsWithoutHandler(const siginfo_t* info) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &standard, nullptr);
  if (info->si_code <= 0) std::raise(SIGBUS);  // sent by somebody: it will not
}

void Chain(int signal, siginfo_t* info, void* context) {
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
  } else if (g_previous.sa_handler == SIG_DFL) {
    EndAsWithoutHandler(info);
  } else if (g_previous.sa_handler == SIG_IGN) {
    if (info->si_code > 0) EndAsWithoutHandler(info);  // a fault cannot be ignored
  } else {
    g_previous.sa_handler(signal);
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  GuardedMapping* mapping =
      info->si_code == BUS_ADRERR ? Find(reinterpret_cast<uintptr_t>(info->si_addr)) : nullptr;
  if (mapping == nullptr || !ReadAsZeros(mapping, info->si_addr)) Chain(signal, info, context);
  errno = error;
}

void InstallHandler() {
  g_page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  if (sigaction(SIGBUS, nullptr, &g_previous) != 0) return;
  struct sigaction ours = g_previous;  // its mask, and whether it may be interrupted by itself
  ours.sa_sigaction = OnBusError;
  ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  sigaction(SIGBUS, &ours, nullptr);
}

GuardedMapping* FreePlace() {
  for (GuardedMapping* at = g_mappings.load(); at != nullptr; at = at->next) {
    bool taken = false;
    if (at->taken.compare_exchange_strong(taken, true)) return at;
  }
  auto* place = new GuardedMapping;
  place->taken = true;
  place->next = g_mappings.load();
  while (!g_mappings.compare_exchange_weak(place->next, place)) {
  }
  return place;
}

}  // namespace

GuardedMapping* GuardMapping(const void* address, size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, InstallHandler);
  GuardedMapping* place = FreePlace();
  place->begin = reinterpret_cast<uintptr_t>(address);
  place->missing = UINT64_MAX;
  place->bytes = bytes;
  return place;
}

void EndGuard(GuardedMapping* guard) {
  if (guard == nullptr) return;
  guard->bytes = 0;
  guard->taken = false;
}

std::optional<uint64_t> FirstMissingByte(const GuardedMapping* guard) {
  const uint64_t at = guard->missing.load();
  return at == UINT64_MAX ? std::nullopt : std::optional<uint64_t>(at);
}

}  // namespace inferprobe::base
