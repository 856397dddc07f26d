#include "engines/executorch/pool_hooks.h"

#include <dlfcn.h>
#include <executorch/runtime/core/function_ref.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "engines/executorch/unseen_sync.h"
#include "regions/current_work.h"
#include "regions/frame.h"

namespace inferprobe::executorch_engine {
namespace {

using regions::Chunk;
using regions::Frame;
using regions::t_work;

using RangeTask = ::executorch::runtime::FunctionRef<void(int64_t, int64_t)>;
using RealParallelFor = bool (*)(int64_t, int64_t, int64_t, RangeTask);

constexpr const char* kParallelFor =
    "_ZN10executorch9extension12parallel_forElllNS_7runtime11FunctionRefIFvllEEE";

// A function of libexecutorch_threadpool.so, which every caller of ours needs.
void* RealSymbol(const char* name) {
  void* symbol = nullptr;
  if (void* library = dlopen("libexecutorch_threadpool.so", RTLD_NOLOAD | RTLD_LAZY);
      library != nullptr) {
    symbol = dlsym(library, name);
    dlclose(library);  // as often as it was opened: it stays loaded
  }
  // There is always one: the loader would not have loaded the caller without.
  if (symbol == nullptr) std::abort();
  return symbol;
}

template <typename F>
F Real(const char* name) {
  return reinterpret_cast<F>(RealSymbol(name));
}

// What a pool has beside its loops.
struct PoolApi {
  size_t (*threads_count)(void* pool);
  void* (*own_pool)();  // ExecuTorch's; nullptr where the thread may not use it

  static const PoolApi& Get() {
    static const PoolApi api = {
        Real<size_t (*)(void*)>("pthreadpool_get_threads_count"),
        Real<void* (*)()>("_ZN10executorch9extension10threadpool15get_pthreadpoolEv")};
    return api;
  }
};

std::atomic<int> g_known_threads{0};

size_t ThreadsOf(void* pool) {
  const PoolApi& api = PoolApi::Get();
  const size_t count = api.threads_count(pool);  // 1 where there is no pool
  const auto known = static_cast<size_t>(g_known_threads.load(std::memory_order_relaxed));
  return known > count && pool != nullptr && pool == api.own_pool() ? known : count;
}

int32_t Narrow(uint64_t count) {
  return static_cast<int32_t>(
      std::min<uint64_t>(count, uint64_t{std::numeric_limits<int32_t>::max()}));
}

uint64_t Times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  const bool over = __builtin_mul_overflow(a, b, &product);
  constexpr auto kMost = uint64_t{std::numeric_limits<int64_t>::max()};
  return over ? kMost : std::min(product, kMost);
}

// Threads that the pool lets in.
int32_t Admitted(uint64_t tasks, uint64_t threads) {
  if (tasks <= 1 || threads <= 1) return tasks == 0 ? 0 : 1;
  return Narrow(std::min(tasks, threads));
}

// The region of a loop, around the call of the real function. Inside, nothing of the same thread is
// a region of its own.
class HookedRegion {
 public:
  HookedRegion(const regions::Described& what, int32_t admitted) {
    regions::BeginRegion(&frame_, t_work.hooked, what);
    frame_.admitted = admitted;
    ++t_work.depth;
    Release(&frame_);
  }
  ~HookedRegion() {
    Acquire(&frame_);
    --t_work.depth;
    regions::EndRegion(&frame_);
  }
  HookedRegion(const HookedRegion&) = delete;
  HookedRegion& operator=(const HookedRegion&) = delete;

  Frame* frame() { return &frame_; }
  // Otherwise the real task runs as it is.
  [[nodiscard]] bool sees_chunks() const { return frame_.detail != RegionDetail::kWall; }

 private:
  Frame frame_;
};

// Whether the calling thread's loop is a region.
bool IsOutermost() { return t_work.depth == 0; }

// pthreadpool's tasks take a context and integers. All are passed on in full registers, also those
// of 32 bits.
struct TaskCall {
  Frame* frame;
  void* task;
  void* context;
};

template <size_t Tiles, typename... Numbers>
void RunTask(void* context, Numbers... numbers) {
  const auto* call = static_cast<const TaskCall*>(context);
  Acquire(call);
  {
    Chunk chunk(call->frame);
    reinterpret_cast<void (*)(void*, Numbers...)>(call->task)(call->context, numbers...);
    const std::array<size_t, sizeof...(Numbers)> all = {numbers...};
    uint64_t iterations = 1;
    for (size_t i = all.size() - Tiles; i < all.size(); ++i) iterations *= all[i];
    chunk.Ran(iterations);
  }
  Release(call->frame);
}

template <size_t>
using SizeAt = size_t;

// RunTask for `kNumbers` integers.
template <size_t Tiles, size_t... Index>
void* TaskFor(std::index_sequence<Index...> /*numbers*/) {
  return reinterpret_cast<void*>(&RunTask<Tiles, SizeAt<Index>...>);
}

// A call of one of pthreadpool's functions while somebody looks. `Function` says which; Run() takes
// what the function takes, so that the hook is a test and one of two jumps.
template <typename Function, typename... Sizes>
struct HookedCall {
  [[gnu::noinline]] static void Run(void* pool, void* task, void* context, Sizes... sizes,
                                    uint32_t flags) {
    const auto real = Function::real.load(std::memory_order_relaxed);
    if (!IsOutermost()) return real(pool, task, context, sizes..., flags);
    constexpr size_t kTiles = Function::kTiles;
    constexpr size_t kRanges = sizeof...(Sizes) - kTiles;
    const std::array<size_t, sizeof...(Sizes)> all = {sizes...};
    uint64_t iterations = 1;
    uint64_t tiles = 1;
    uint64_t grain = 1;
    for (size_t i = 0; i < kRanges; ++i) {
      constexpr size_t kUntiled = kRanges - kTiles;
      const size_t tile = i < kUntiled ? 1 : std::max<size_t>(all[kRanges + i - kUntiled], 1);
      iterations = Times(iterations, all[i]);
      tiles = Times(tiles, all[i] / tile + (all[i] % tile != 0 ? 1 : 0));
      grain = Times(grain, tile);
    }
    const size_t threads = ThreadsOf(pool);
    regions::Described what;
    what.label = Function::kLabel;
    what.iterations = static_cast<int64_t>(iterations);
    what.grain = static_cast<int64_t>(grain);
    what.requested = Narrow(threads);
    what.code = task;
    HookedRegion region(what, Admitted(tiles, threads));
    if (!region.sees_chunks()) return real(pool, task, context, sizes..., flags);
    TaskCall call = {region.frame(), task, context};
    constexpr auto kNumbers = std::make_index_sequence<sizeof...(Sizes) + Function::kThread>();
    Release(&call);
    real(pool, TaskFor<kTiles>(kNumbers), &call, sizes..., flags);
  }
};

// How many tasks ExecuTorch's parallel_for makes of `n` iterations.
uint64_t TasksOf(uint64_t n, uint64_t grain, uint64_t threads) {
  if (n < grain || threads == 0) return n == 0 ? 0 : 1;
  const uint64_t chunk = std::max(grain, n / threads + (n % threads != 0 ? 1 : 0));
  return n / chunk + (n % chunk != 0 ? 1 : 0);
}

// The function behind a reference, whose members are not ours to read.
const void* CodeOf(const RangeTask& task) {
  static_assert(sizeof(RangeTask) == 2 * sizeof(void*));
  const void* code = nullptr;
  std::memcpy(static_cast<void*>(&code), &task, sizeof code);
  return code;
}

// Parameters of a function with so many sizes, and what is given to the real one.
#define INFERPROBE_SIZES_1 size_t a
#define INFERPROBE_SIZES_2 INFERPROBE_SIZES_1, size_t b
#define INFERPROBE_SIZES_3 INFERPROBE_SIZES_2, size_t c
#define INFERPROBE_SIZES_4 INFERPROBE_SIZES_3, size_t d
#define INFERPROBE_SIZES_5 INFERPROBE_SIZES_4, size_t e
#define INFERPROBE_SIZES_6 INFERPROBE_SIZES_5, size_t f
#define INFERPROBE_SIZES_7 INFERPROBE_SIZES_6, size_t g
#define INFERPROBE_SIZES_8 INFERPROBE_SIZES_7, size_t h
#define INFERPROBE_GIVEN_1 a
#define INFERPROBE_GIVEN_2 INFERPROBE_GIVEN_1, b
#define INFERPROBE_GIVEN_3 INFERPROBE_GIVEN_2, c
#define INFERPROBE_GIVEN_4 INFERPROBE_GIVEN_3, d
#define INFERPROBE_GIVEN_5 INFERPROBE_GIVEN_4, e
#define INFERPROBE_GIVEN_6 INFERPROBE_GIVEN_5, f
#define INFERPROBE_GIVEN_7 INFERPROBE_GIVEN_6, g
#define INFERPROBE_GIVEN_8 INFERPROBE_GIVEN_7, h
// As types, for HookedCall.
#define INFERPROBE_TYPES_1 size_t
#define INFERPROBE_TYPES_2 INFERPROBE_TYPES_1, size_t
#define INFERPROBE_TYPES_3 INFERPROBE_TYPES_2, size_t
#define INFERPROBE_TYPES_4 INFERPROBE_TYPES_3, size_t
#define INFERPROBE_TYPES_5 INFERPROBE_TYPES_4, size_t
#define INFERPROBE_TYPES_6 INFERPROBE_TYPES_5, size_t
#define INFERPROBE_TYPES_7 INFERPROBE_TYPES_6, size_t
#define INFERPROBE_TYPES_8 INFERPROBE_TYPES_7, size_t

// The real functions. Each is found when it is first called, which may be before any initialiser of
// ours: until then `real` leads to Find, which looks and calls.
struct ParallelFor {
  static bool Find(int64_t begin, int64_t end, int64_t grain, RangeTask task) {
    const auto found = Real<RealParallelFor>(kParallelFor);
    real.store(found, std::memory_order_relaxed);
    return found(begin, end, grain, task);
  }
  static constinit std::atomic<RealParallelFor> real;
};
constinit std::atomic<RealParallelFor> ParallelFor::real{&ParallelFor::Find};

#define F(name, thread, ranges, tiles, sizes)                                         \
  struct Pool_##name {                                                                \
    using Type = void (*)(void*, void*, void*, INFERPROBE_SIZES_##sizes, uint32_t);   \
    static constexpr std::string_view kLabel = #name;                                 \
    static constexpr size_t kThread = thread;                                         \
    static constexpr size_t kTiles = tiles;                                           \
    static void Find(void* pool, void* task, void* context, INFERPROBE_SIZES_##sizes, \
                     uint32_t flags) {                                                \
      const auto found = Real<Type>("pthreadpool_parallelize_" #name);                \
      real.store(found, std::memory_order_relaxed);                                   \
      found(pool, task, context, INFERPROBE_GIVEN_##sizes, flags);                    \
    }                                                                                 \
    static constinit std::atomic<Type> real;                                          \
  };                                                                                  \
  constinit std::atomic<Pool_##name::Type> Pool_##name::real{&Pool_##name::Find};
#include "engines/executorch/pool_functions.inc"
#undef F

// A range of a parallel_for while somebody looks.
struct SeenRange {
  Frame* frame;
  const RangeTask* task;

  void operator()(int64_t from, int64_t to) const {
    Acquire(this);
    {
      Chunk chunk(frame);
      (*task)(from, to);
      chunk.Ran(static_cast<uint64_t>(to - from));
    }
    Release(frame);
  }
};

[[gnu::noinline]] bool RunHookedParallelFor(int64_t begin, int64_t end, int64_t grain,
                                            RangeTask task) {
  const auto real = ParallelFor::real.load(std::memory_order_relaxed);
  const bool refused = begin < 0 || end < begin || grain <= 0;  // by the real one, in its words
  if (!IsOutermost() || refused) return real(begin, end, grain, task);
  const auto n = static_cast<uint64_t>(end - begin);
  void* pool = PoolApi::Get().own_pool();
  const size_t threads = ThreadsOf(pool);
  regions::Described what;
  what.label = "parallel_for";
  what.iterations = end - begin;
  what.grain = grain;
  what.requested = Narrow(threads);
  what.code = CodeOf(task);
  // The chunks are the pool's, and without it they run on the caller.
  const uint64_t tasks = TasksOf(n, static_cast<uint64_t>(grain), threads);
  HookedRegion region(what, Admitted(tasks, threads));
  if (!region.sees_chunks()) return real(begin, end, grain, task);
  const SeenRange seen = {region.frame(), &task};
  Release(&seen);
  return real(begin, end, grain, RangeTask(seen));
}
}  // namespace

void SetKnownPoolThreads(int threads) { g_known_threads.store(threads, std::memory_order_relaxed); }

}  // namespace inferprobe::executorch_engine

namespace hooks = inferprobe::executorch_engine;

// While nobody looks: a load, a test, and the jump to the real function.
#define F(name, thread, ranges, tiles, sizes)                                             \
  extern "C" __attribute__((visibility("hidden"))) void inferprobe_pool_##name(           \
      void* pool, void* task, void* context, INFERPROBE_SIZES_##sizes, uint32_t flags) {  \
    const auto real = hooks::Pool_##name::real.load(std::memory_order_relaxed);           \
    if (inferprobe::regions::t_work.hooked == nullptr) [[likely]] {                       \
      return real(pool, task, context, INFERPROBE_GIVEN_##sizes, flags);                  \
    }                                                                                     \
    hooks::HookedCall<hooks::Pool_##name, INFERPROBE_TYPES_##sizes>::Run(                 \
        pool, task, context, INFERPROBE_GIVEN_##sizes, flags);                            \
  }                                                                                       \
  /* Found by the loader in the place of libexecutorch_threadpool.so's. */                \
  extern "C" __attribute__((visibility("default"), alias("inferprobe_pool_" #name))) void \
      pthreadpool_parallelize_##name(void*, void*, void*, INFERPROBE_SIZES_##sizes, uint32_t);
#include "engines/executorch/pool_functions.inc"
#undef F

extern "C" __attribute__((visibility("hidden"))) bool InferprobePoolParallelFor(
    int64_t begin, int64_t end, int64_t grain, hooks::RangeTask task) {
  const auto real = hooks::ParallelFor::real.load(std::memory_order_relaxed);
  if (inferprobe::regions::t_work.hooked == nullptr) [[likely]] {
    return real(begin, end, grain, task);
  }
  return hooks::RunHookedParallelFor(begin, end, grain, task);
}

namespace executorch::extension {
// NOLINTNEXTLINE(readability-identifier-naming)
__attribute__((visibility("default"), alias("InferprobePoolParallelFor"))) bool parallel_for(
    int64_t begin, int64_t end, int64_t grain, runtime::FunctionRef<void(int64_t, int64_t)> task);
}  // namespace executorch::extension

namespace inferprobe::executorch_engine {

std::span<const HookedFunction> HookedFunctions() {
  // Of this copy, whatever the same name means elsewhere in the process.
  static const HookedFunction functions[] = {
      {kParallelFor, reinterpret_cast<const void*>(&InferprobePoolParallelFor)},
#define F(name, thread, ranges, tiles, sizes) \
  {"pthreadpool_parallelize_" #name, reinterpret_cast<const void*>(&inferprobe_pool_##name)},
#include "engines/executorch/pool_functions.inc"
#undef F
  };
  return functions;
}

}  // namespace inferprobe::executorch_engine
