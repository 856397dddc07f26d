// For LD_PRELOAD: cuts a file while a program has it mapped, at a moment that no race decides.
// SHRINK_FILE is cut to SHRINK_TO bytes when it is mapped for the SHRINK_AT-th time (from 1), just
// before the program sees the mapping.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<int> g_mapped{0};

void Shrink(int fd) {
  const char* path = std::getenv("SHRINK_FILE");
  const char* to = std::getenv("SHRINK_TO");
  const char* at = std::getenv("SHRINK_AT");
  if (path == nullptr || to == nullptr || at == nullptr || fd < 0) return;
  struct stat file = {};
  struct stat mapped = {};
  if (stat(path, &file) != 0 || fstat(fd, &mapped) != 0) return;
  if (file.st_dev != mapped.st_dev || file.st_ino != mapped.st_ino) return;
  if (++g_mapped == std::atoi(at) && truncate(path, std::atol(to)) != 0) std::abort();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes,
                                                             int access, int flags, int fd,
                                                             off_t offset) {
  using Mmap = void* (*)(void*, size_t, int, int, int, off_t);
  static const auto real = reinterpret_cast<Mmap>(dlsym(RTLD_NEXT, "mmap"));
  void* const mapped = real(address, bytes, access, flags, fd, offset);
  Shrink(fd);
  return mapped;
}
