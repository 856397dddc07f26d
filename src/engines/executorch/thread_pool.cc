#include "engines/executorch/thread_pool.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>

namespace inferprobe::executorch_engine {
namespace {

std::atomic<int> g_pool_users{0};

// Itanium-ABI names of executorch::extension::threadpool of ExecuTorch 1.5.1.
struct Pool {
  void* (*get)() = nullptr;                  // get_threadpool()
  bool (*reset)(void*, uint32_t) = nullptr;  // ThreadPool::_unsafe_reset_threadpool
  size_t (*count)(const void*) = nullptr;    // ThreadPool::get_thread_count() const

  [[nodiscard]] bool usable() const {
    return get != nullptr && reset != nullptr && count != nullptr;
  }
};

template <typename F>
void Find(void* library, const char* symbol, F** function) {
  *function = reinterpret_cast<F*>(dlsym(library, symbol));
}

const Pool& ThePool() {
  static const Pool pool = [] {
    Pool found;
    void* library = dlopen("libexecutorch_threadpool.so", RTLD_NOLOAD | RTLD_NOW);
    if (library == nullptr) return found;
    Find(library, "_ZN10executorch9extension10threadpool14get_threadpoolEv", &found.get);
    Find(library, "_ZN10executorch9extension10threadpool10ThreadPool24_unsafe_reset_threadpoolEj",
         &found.reset);
    Find(library, "_ZNK10executorch9extension10threadpool10ThreadPool16get_thread_countEv",
         &found.count);
    return found;
  }();
  return pool;
}

}  // namespace

PoolUser::PoolUser() { g_pool_users.fetch_add(1); }
PoolUser::~PoolUser() { g_pool_users.fetch_sub(1); }

Result<void> SetPoolThreads(int threads) {
  if (threads < 1 || threads > 1024) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} threads: 1 to 1024 are possible", threads));
  }
  const Pool& pool = ThePool();
  void* instance = pool.usable() ? pool.get() : nullptr;
  if (instance == nullptr) {
    return MakeError(ErrorCode::kUnsupported,
                     "the number of threads cannot be set: this ExecuTorch has no thread pool that "
                     "inferprobe knows",
                     "leave the number of threads at its default, or use executorch 1.5.1");
  }
  const auto wanted = static_cast<uint32_t>(threads);
  if (pool.count(instance) == wanted) return {};
  if (g_pool_users.load() > 0) {
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("a loaded program uses ExecuTorch's thread pool with {} threads",
                    pool.count(instance)),
        "all programs of a process share one pool: use the same number, or release the "
        "other one first");
  }
  if (!pool.reset(instance, wanted) || pool.count(instance) != wanted) {
    return MakeError(ErrorCode::kEngine,
                     fmt::format("ExecuTorch did not set its thread pool to {} threads", threads));
  }
  return {};
}

profile::Metric<int64_t> PoolThreads() {
  const Pool& pool = ThePool();
  void* instance = pool.usable() ? pool.get() : nullptr;
  if (instance == nullptr) {
    return {profile::Status::kUnavailable, "this ExecuTorch's thread pool cannot be reached"};
  }
  return static_cast<int64_t>(pool.count(instance));
}

}  // namespace inferprobe::executorch_engine
