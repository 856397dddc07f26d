#include "engines/executorch/pool_hooks.h"

#include <dlfcn.h>
#include <executorch/runtime/core/function_ref.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <span>

#include "base/thread_identity.h"
#include "engines/executorch/test_support.h"
#include "engines/executorch/unseen_sync.h"
#include "inferprobe/region.h"
#include "regions/current_work.h"

namespace executorch::extension {
// NOLINTNEXTLINE(readability-identifier-naming)
bool parallel_for(int64_t begin, int64_t end, int64_t grain,
                  runtime::FunctionRef<void(int64_t, int64_t)> task);
}  // namespace executorch::extension

// As a library that uses the pool declares them: every argument is an integer or a pointer.
#define F(name, thread, ranges, tiles, sizes) extern "C" void pthreadpool_parallelize_##name();
#include "engines/executorch/pool_functions.inc"
#undef F

namespace inferprobe::executorch_engine {
namespace {

using regions::t_work;

// Functions of the pool that nobody stands before.
template <typename F>
F Symbol(const char* name) {
  void* library = dlopen("libexecutorch_threadpool.so", RTLD_NOLOAD | RTLD_LAZY);
  EXPECT_NE(library, nullptr);
  void* symbol = dlsym(library, name);
  EXPECT_NE(symbol, nullptr) << name;
  dlclose(library);
  return reinterpret_cast<F>(symbol);
}

class Pool {
 public:
  explicit Pool(size_t threads) : pool_(Symbol<void* (*)(size_t)>("pthreadpool_create")(threads)) {}
  ~Pool() { Symbol<void (*)(void*)>("pthreadpool_destroy")(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  void* get() { return pool_; }

 private:
  void* pool_;
};

struct Shape {
  const char* name;
  void (*function)();
  size_t thread, ranges, tiles;
};
std::vector<Shape> Shapes() {
  return {
#define F(name, thread, ranges, tiles, sizes) \
  {#name, &pthreadpool_parallelize_##name, thread, ranges, tiles},
#include "engines/executorch/pool_functions.inc"
#undef F
  };
}
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

// What a task was called with: each call's numbers, as the pool gave them.
struct Calls {
  std::mutex mutex;
  std::multiset<std::vector<size_t>> calls;
};

template <size_t Count, typename... Numbers>
struct Recorded {
  static void Task(void* context, Numbers... numbers) {
    auto* calls = static_cast<Calls*>(context);
    Acquire(calls);
    {
      const std::lock_guard lock(calls->mutex);
      calls->calls.insert({numbers...});
    }
    Release(calls);
  }
};
template <size_t Count, typename... Numbers>
void* TaskOf() {
  if constexpr (sizeof...(Numbers) == Count) {
    return reinterpret_cast<void*>(&Recorded<Count, Numbers...>::Task);
  } else {
    return TaskOf<Count, Numbers..., size_t>();
  }
}
void* TaskOf(size_t numbers) {
  const std::array tasks = {TaskOf<1>(), TaskOf<2>(), TaskOf<3>(), TaskOf<4>(), TaskOf<5>(),
                            TaskOf<6>(), TaskOf<7>(), TaskOf<8>(), TaskOf<9>()};
  return tasks[numbers - 1];
}

template <typename... Sizes>
void CallWith(void (*function)(), void* pool, void* task, void* context,
              const std::vector<size_t>& all, Sizes... sizes) {
  if constexpr (sizeof...(Sizes) > 8) {
    FAIL() << "too many sizes";
  } else if (sizeof...(Sizes) == all.size()) {
    Release(context);
    reinterpret_cast<void (*)(void*, void*, void*, Sizes..., uint32_t)>(function)(
        pool, task, context, sizes..., 0);
    Acquire(context);
  } else {
    CallWith(function, pool, task, context, all, sizes..., all[sizeof...(Sizes)]);
  }
}

class HookedPool : public testing::TestWithParam<Shape> {
 protected:
  static constexpr std::array<size_t, 6> kRanges = {3, 5, 2, 7, 3, 4};
  static constexpr std::array<size_t, 2> kTiles = {2, 3};

  [[nodiscard]] static std::vector<size_t> Sizes() {
    const Shape& shape = GetParam();
    const std::span<const size_t> ranges = std::span(kRanges).first(shape.ranges);
    const std::span<const size_t> tiles = std::span(kTiles).first(shape.tiles);
    std::vector<size_t> sizes(ranges.begin(), ranges.end());
    sizes.insert(sizes.end(), tiles.begin(), tiles.end());
    return sizes;
  }
  // Iterations that the calls covered, each counted as often as it was run. A task of dynamic tiles
  // gets one or several at once, so calls are taken apart.
  static std::map<std::vector<size_t>, int> Covered(const Calls& calls) {
    const Shape& shape = GetParam();
    std::map<std::vector<size_t>, int> covered;
    for (const std::vector<size_t>& call : calls.calls) {
      const std::span<const size_t> numbers = std::span(call).subspan(shape.thread);
      const std::span<const size_t> from = numbers.first(shape.ranges);
      const std::span<const size_t> sizes = numbers.subspan(shape.ranges);
      std::vector<size_t> at(from.begin(), from.end());
      std::vector<size_t> tile(sizes.begin(), sizes.end());
      tile.insert(tile.begin(), 2 - tile.size(), 1);
      if (shape.ranges == 1) {
        for (size_t i = 0; i < tile[1]; ++i) ++covered[{at[0] + i}];
        continue;
      }
      for (size_t i = 0; i < tile[0]; ++i) {
        for (size_t j = 0; j < tile[1]; ++j) {
          std::vector<size_t> one = at;
          one[shape.ranges - 2] += i;
          one[shape.ranges - 1] += j;
          ++covered[one];
        }
      }
    }
    return covered;
  }
  static void Call(void* pool, Calls* calls) {
    const Shape& shape = GetParam();
    CallWith(shape.function, pool, TaskOf(shape.thread + shape.ranges + shape.tiles), calls,
             Sizes());
  }
  [[nodiscard]] static size_t Tiles() {
    const Shape& shape = GetParam();
    size_t tiles = 1;
    for (size_t i = 0; i < shape.ranges; ++i) {
      const size_t behind = shape.ranges - i;
      const size_t tile = behind <= shape.tiles ? kTiles[shape.tiles - behind] : 1;
      tiles *= (kRanges[i] + tile - 1) / tile;
    }
    return tiles;
  }
  [[nodiscard]] static uint64_t Product(size_t first, size_t count) {
    const std::vector<size_t> sizes = Sizes();
    const std::span<const size_t> some = std::span(sizes).subspan(first, count);
    return std::accumulate(some.begin(), some.end(), uint64_t{1}, std::multiplies<>());
  }
};

TEST_P(HookedPool, RunsEveryIterationOnceAndSaysWhatTheLoopWas) {
  const Shape& shape = GetParam();
  for (const size_t threads : {1, 2, 3}) {
    Pool pool(threads);
    Calls plain;
    Call(pool.get(), &plain);

    ParallelRegionCollector collector({.capacity = 4, .participants_per_event = 3});
    Calls seen;
    {
      const Looking looking(collector);
      Call(pool.get(), &seen);
    }
    EXPECT_EQ(Covered(seen), Covered(plain)) << "a task was given other numbers";
    for (const auto& [iteration, times] : Covered(seen)) EXPECT_EQ(times, 1);

    const ParallelRegionReport report = collector.Report();
    ASSERT_EQ(report.events.size(), 1U);
    const ParallelRegionEvent& event = report.events[0];
    EXPECT_EQ(event.label, shape.name);
    EXPECT_EQ(static_cast<uint64_t>(event.total_iterations), Product(0, shape.ranges));
    EXPECT_EQ(static_cast<uint64_t>(event.grain_size), Product(shape.ranges, shape.tiles));
    EXPECT_EQ(event.requested_threads, static_cast<int32_t>(threads));
    EXPECT_EQ(event.admitted_threads, static_cast<int32_t>(std::min(threads, Tiles())));
    EXPECT_GE(event.observed_threads, 1);
    EXPECT_LE(event.observed_threads, event.admitted_threads);
    EXPECT_EQ(event.location.line(), 0U);
    EXPECT_EQ(event.code, TaskOf(shape.thread + shape.ranges + shape.tiles));
    uint64_t iterations = 0;
    uint64_t chunks = 0;
    for (const RegionParticipant& participant : event.participants) {
      iterations += participant.iterations;
      chunks += participant.chunks;
    }
    EXPECT_EQ(iterations, Product(0, shape.ranges));
    EXPECT_EQ(chunks, seen.calls.size());
  }
}

TEST_P(HookedPool, GivesTheRealTaskWhereOnlyTheWallIsAskedFor) {
  Pool pool(2);
  ParallelRegionCollector collector({.capacity = 4, .detail = RegionDetail::kWall});
  Calls seen;
  {
    const Looking looking(collector);
    Call(pool.get(), &seen);
  }
  for (const auto& [iteration, times] : Covered(seen)) EXPECT_EQ(times, 1);
  const ParallelRegionReport report = collector.Report();
  ASSERT_EQ(report.events.size(), 1U);
  EXPECT_EQ(report.events[0].admitted_threads, 2);
  EXPECT_EQ(report.events[0].observed_threads, 0);
  EXPECT_EQ(report.events[0].participants_status, Status::kNotRequested);
  EXPECT_FALSE(report.events[0].busy_ns());
}

INSTANTIATE_TEST_SUITE_P(Each, HookedPool, testing::ValuesIn(Shapes()),
                         [](const auto& each) { return std::string(each.param.name); });

using Task1d = void (*)(void*, size_t);
void Parallelize1d(void* pool, Task1d task, void* context, size_t range) {
  CallWith(&pthreadpool_parallelize_1d, pool, reinterpret_cast<void*>(task), context, {range});
}
void Parallelize2dTiles(void* pool, Calls* calls, const std::vector<size_t>& sizes) {
  CallWith(&pthreadpool_parallelize_2d_tile_2d, pool, TaskOf(4), calls, sizes);
}

struct TilesCase {
  std::vector<size_t> sizes;
  int32_t admitted;
};

TEST(PoolHooks, AdmitsAsManyAsThereAreTiles) {
  const std::array<TilesCase, 6> cases = {TilesCase{{1, 1, 4, 4}, 1}, {{4, 4, 4, 4}, 1},
                                          {{5, 4, 4, 4}, 2},          {{8, 8, 4, 4}, 4},
                                          {{9, 9, 4, 4}, 4},          {{0, 4, 4, 4}, 0}};
  for (const TilesCase& one : cases) {
    Pool pool(4);
    ParallelRegionCollector collector({.capacity = 4});
    Calls calls;
    {
      const Looking looking(collector);
      Parallelize2dTiles(pool.get(), &calls, one.sizes);
    }
    const ParallelRegionReport report = collector.Report();
    ASSERT_EQ(report.events.size(), 1U);
    EXPECT_EQ(report.events[0].requested_threads, 4);
    EXPECT_EQ(report.events[0].admitted_threads, one.admitted) << one.sizes[0];
    EXPECT_LE(report.events[0].observed_threads, one.admitted);
    if (one.admitted == 0) {
      EXPECT_TRUE(calls.calls.empty());
      EXPECT_FALSE(report.events[0].busy_utilization());
    }
  }
}

TEST(PoolHooks, WithoutAPoolTheCallerIsAlone) {
  ParallelRegionCollector collector({.capacity = 4});
  Calls calls;
  {
    const Looking looking(collector);
    Parallelize1d(nullptr, reinterpret_cast<Task1d>(TaskOf(1)), &calls, 5);
  }
  EXPECT_EQ(calls.calls.size(), 5U);
  const ParallelRegionReport report = collector.Report();
  ASSERT_EQ(report.events.size(), 1U);
  EXPECT_EQ(report.events[0].requested_threads, 1);
  EXPECT_EQ(report.events[0].admitted_threads, 1);
  EXPECT_EQ(report.events[0].observed_threads, 1);
  EXPECT_EQ(report.events[0].participants[0].thread_id, report.events[0].thread_id);
}

TEST(PoolHooks, NothingHappensWhileNobodyLooks) {
  Pool pool(2);
  ParallelRegionCollector collector({.capacity = 4});
  Calls calls;
  Parallelize1d(pool.get(), reinterpret_cast<Task1d>(TaskOf(1)), &calls, 5);
  EXPECT_EQ(calls.calls.size(), 5U);
  EXPECT_TRUE(collector.Report().events.empty());
}

// Sets the pool of the process for a test.
class ParallelForHook : public testing::Test {
 protected:
  void SetUp() override {
    before_ = PoolThreads();
    ASSERT_TRUE(before_);
    ASSERT_TRUE(SetPoolThreads(3));
  }
  void TearDown() override { ASSERT_TRUE(SetPoolThreads(static_cast<int>(*before_))); }
  profile::Metric<int64_t> before_;
};

TEST_F(ParallelForHook, CountsTheChunksThatExecuTorchMakes) {
  struct Case {
    int64_t n, grain;
    int32_t admitted;
  };
  for (const Case& one : {Case{0, 1, 0},
                          {1, 1, 1},
                          {2, 1, 2},
                          {3, 1, 3},
                          {9, 1, 3},
                          {10, 4, 3},
                          {10, 5, 2},
                          {10, 10, 1},
                          {10, 11, 1},
                          {7, 3, 3},
                          {100, 33, 3}}) {
    ParallelRegionCollector collector({.capacity = 4, .participants_per_event = 3});
    std::atomic<int> chunks{0};
    std::atomic<int64_t> sum{0};
    const auto body = [&](int64_t begin, int64_t end) {
      ++chunks;
      for (int64_t i = begin; i < end; ++i) sum += i;
    };
    {
      const Looking looking(collector);
      ASSERT_TRUE(::executorch::extension::parallel_for(5, 5 + one.n, one.grain, body));
    }
    EXPECT_EQ(sum.load(), one.n * 5 + one.n * (one.n - 1) / 2);
    const ParallelRegionReport report = collector.Report();
    ASSERT_EQ(report.events.size(), 1U);  // and not a second one for the pool's own loop
    const ParallelRegionEvent& event = report.events[0];
    EXPECT_EQ(event.label, "parallel_for");
    EXPECT_EQ(event.total_iterations, one.n);
    EXPECT_EQ(event.grain_size, one.grain);
    EXPECT_EQ(event.requested_threads, 3);
    EXPECT_EQ(event.admitted_threads, one.admitted) << one.n << " by " << one.grain;
    EXPECT_EQ(chunks.load(), one.admitted);  // one task for each that is let in
    EXPECT_LE(event.observed_threads, event.admitted_threads);
    EXPECT_EQ(event.observed_threads == 0, one.n == 0);
    int64_t iterations = 0;
    for (const RegionParticipant& participant : event.participants) {
      iterations += static_cast<int64_t>(participant.iterations);
    }
    EXPECT_EQ(iterations, one.n);
    EXPECT_EQ(t_work.depth, 0U);
  }
}

TEST_F(ParallelForHook, SaysNothingOfALoopThatIsRefused) {
  ParallelRegionCollector collector({.capacity = 4});
  const Looking looking(collector);
  const auto body = [](int64_t, int64_t) { FAIL(); };
  EXPECT_FALSE(::executorch::extension::parallel_for(3, 2, 1, body));
  EXPECT_FALSE(::executorch::extension::parallel_for(-1, 2, 1, body));
  EXPECT_FALSE(::executorch::extension::parallel_for(0, 2, 0, body));
  EXPECT_TRUE(collector.Report().events.empty());
}

TEST_F(ParallelForHook, CountsTheOutermostOfNestedLoops) {
  ParallelRegionCollector collector({.capacity = 64});
  Pool pool(2);
  std::atomic<int> inner{0};
  {
    const Looking looking(collector);
    ASSERT_TRUE(::executorch::extension::parallel_for(0, 3, 1, [&](int64_t, int64_t) {
      Parallelize1d(
          nullptr, [](void* count, size_t) { ++*static_cast<std::atomic<int>*>(count); }, &inner,
          4);
    }));
    Parallelize1d(pool.get(), [](void*, size_t) {}, nullptr, 4);  // and one that stands alone
  }
  EXPECT_EQ(inner.load(), 12);
  const ParallelRegionReport report = collector.Report();
  ASSERT_EQ(report.events.size(), 2U);
  EXPECT_EQ(report.events[0].label, "parallel_for");
  EXPECT_EQ(report.events[1].label, "1d");
}

TEST_F(ParallelForHook, UnderTheGuardTheCallerIsAlone) {
  const auto set_enabled = Symbol<void (*)(bool)>(
      "_ZN10executorch9extension10threadpool17NoThreadPoolGuard11set_enabledEb");
  ParallelRegionCollector collector({.capacity = 4});
  std::set<int64_t> threads;
  {
    const Looking looking(collector);
    set_enabled(true);
    EXPECT_TRUE(::executorch::extension::parallel_for(
        0, 9, 1, [&](int64_t, int64_t) { threads.insert(base::ThreadId()); }));
    set_enabled(false);
  }
  EXPECT_EQ(threads.size(), 1U);
  const ParallelRegionReport report = collector.Report();
  ASSERT_EQ(report.events.size(), 1U);
  EXPECT_EQ(report.events[0].requested_threads, 1);
  EXPECT_EQ(report.events[0].admitted_threads, 1);
  EXPECT_EQ(report.events[0].observed_threads, 1);
}

TEST(PoolBinding, EveryLibraryOfThisProgramIsHooked) {
  EXPECT_EQ(UnhookedLibraries(), std::vector<std::string>{});
  const auto sources = RegionSources();
  ASSERT_TRUE(sources) << sources.missing().hint;
}

}  // namespace
}  // namespace inferprobe::executorch_engine
