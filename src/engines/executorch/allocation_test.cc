// Counts every allocation of this process while a model runs: an observed run makes none on our
// behalf, and neither do its parallel loops. A program of its own, because it replaces malloc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/counting_malloc.h"
#include "engines/executorch/null_backend.h"
#include "engines/executorch/null_tracer.h"
#include "engines/executorch/test_support.h"
#include "engines/executorch/wrapped_backend.h"
#include "inferprobe/executorch_delegate.h"
#include "inferprobe/region.h"

extern "C" void pthreadpool_parallelize_1d();  // NOLINT(readability-identifier-naming): its own

namespace inferprobe::executorch_engine {
namespace {

using base::Allocations;

namespace et = ::executorch::runtime;

// The steady number of a run, which must be the same three times.
template <typename Run>
uint64_t OfARun(const Run& run) {
  for (int i = 0; i < 3; ++i) run();
  const uint64_t first = Allocations(run);
  EXPECT_EQ(Allocations(run), first);
  EXPECT_EQ(Allocations(run), first);
  return first;
}

// Any tracer makes XNNPACK collect its operators' times, and that allocates; so the number to
// compare with is that of a tracer that does nothing.
uint64_t WithNullTracer(const std::string& path, const std::vector<Tensor>& inputs) {
  auto tables = ProgramTables::Open(path);
  auto program = LoadedProgram::Load(**tables);
  const PlanFacts facts = ReadPlan(*(*tables)->FindPlan("forward"));
  NullTracer tracer;
  // At level off a backend is not given the tracer.
  const auto level = DelegateLoadOptions::Make(facts.backends, AtDelegate(path).delegates, {});
  auto instance = MethodInstance::Load({program->get(), &facts, "forward",
                                        *PlannedMemory::Make(facts.planned_buffers), nullptr,
                                        &tracer, (*level)->map()});
  EXPECT_TRUE(instance);
  EXPECT_TRUE((*instance)->SetInputs(inputs));
  return OfARun([&] {
    ASSERT_EQ((*instance)->GiveInputs(), et::Error::Ok);
    ASSERT_EQ((*instance)->Execute(), et::Error::Ok);
  });
}

class Allocating : public testing::TestWithParam<const char*> {};

TEST_P(Allocating, AnObservedRunAddsNothing) {
  const std::string path = Sample(std::string(GetParam()) + ".pte");
  Recording recording;
  auto engine = LoadOrFail(AtDelegate(path));
  const auto inputs = measure::ResolveInputs(engine->inputs(), {})->tensors;
  ASSERT_TRUE(engine->SetInputs(inputs));
  ASSERT_TRUE(engine->PrepareObserved());
  const uint64_t plain = OfARun([&] { ASSERT_TRUE(engine->Run(false)); });
  const uint64_t observed = OfARun([&] { ASSERT_TRUE(engine->Run(true)); });
  EXPECT_EQ(observed, WithNullTracer(path, inputs));
  const bool portable = path.find("portable") != std::string::npos;
  if (portable) {
    EXPECT_EQ(observed, plain);
  }
  RecordProperty("plain", static_cast<int>(plain));
  RecordProperty("observed", static_cast<int>(observed));
  std::printf("%s: %d allocations a run, %d observed\n", GetParam(), static_cast<int>(plain),
              static_cast<int>(observed));
}

TEST_P(Allocating, LookingAtLoopsAddsNothing) {
  const std::string path = Sample(std::string(GetParam()) + ".pte");
  Recording recording;
  auto engine = LoadOrFail(AtDelegate(path));
  ASSERT_TRUE(engine->SetInputs(measure::ResolveInputs(engine->inputs(), {})->tensors));
  ASSERT_TRUE(engine->PrepareObserved());
  const uint64_t plain = OfARun([&] { ASSERT_TRUE(engine->Run(false)); });
  EXPECT_EQ(plain, 0U);
  const uint64_t observed = OfARun([&] { ASSERT_TRUE(engine->Run(true)); });
  for (const RegionDetail detail :
       {RegionDetail::kWall, RegionDetail::kBusy, RegionDetail::kCpuClock}) {
    for (const size_t capacity : {size_t{1}, size_t{4096}}) {  // also what finds no place
      ParallelRegionCollector regions({.capacity = capacity, .detail = detail});
      EXPECT_EQ(observed, OfARun([&] {
                  const Looking looking(regions);
                  ASSERT_TRUE(engine->Run(true));
                }));
      EXPECT_EQ(plain, OfARun([&] {
                  const Looking looking(regions);
                  ASSERT_TRUE(engine->Run(false));
                }));
      EXPECT_GT(regions.Report().events.size(), 0U);
    }
  }
  EXPECT_EQ(plain, OfARun([&] { ASSERT_TRUE(engine->Run(false)); }));
}

// Against the pool's own function, which a plain run without hooks calls.
TEST(Allocating, AHookThatNobodyLooksThroughAddsNothing) {
  using Task = void (*)(void*, size_t);
  using Parallelize = void (*)(void*, Task, void*, size_t, uint32_t);
  void* library = dlopen("libexecutorch_threadpool.so", RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(library, nullptr);
  const auto create = reinterpret_cast<void* (*)(size_t)>(dlsym(library, "pthreadpool_create"));
  const auto destroy = reinterpret_cast<void (*)(void*)>(dlsym(library, "pthreadpool_destroy"));
  const auto real = reinterpret_cast<Parallelize>(dlsym(library, "pthreadpool_parallelize_1d"));
  dlclose(library);
  const auto hooked = reinterpret_cast<Parallelize>(&pthreadpool_parallelize_1d);
  ASSERT_NE(hooked, real);
  void* pool = create(2);
  const Task nothing = [](void*, size_t) {};
  EXPECT_EQ(OfARun([&] { real(pool, nothing, nullptr, 64, 0); }), 0U);
  EXPECT_EQ(OfARun([&] { hooked(pool, nothing, nullptr, 64, 0); }), 0U);
  ParallelRegionCollector regions;
  EXPECT_EQ(OfARun([&] {
              const Looking looking(regions);
              hooked(pool, nothing, nullptr, 64, 0);
            }),
            0U);
  EXPECT_GT(regions.Report().events.size(), 0U);
  destroy(pool);
}

INSTANTIATE_TEST_SUITE_P(Each, Allocating,
                         testing::Values("vision_portable", "vision_xnnpack", "text_portable",
                                         "text_xnnpack", "regions50_xnnpack"),
                         [](const auto& sample) { return std::string(sample.param); });

// The samples cannot tell: all that they are compared with goes through the wrapper, too.
TEST(Allocating, AWrappedCallAddsNothing) {
  NullBackend null;
  const WrappedBackend wrapped("NullBackend", &null);
  NullTracer tracer;
  for (const ProfileLevel level : {ProfileLevel::kOff, ProfileLevel::kDelegate}) {
    ProfileConfig config;
    config.level = level;
    auto options = executorch_delegate::OptionsOf("nullbackend", config);
    ASSERT_TRUE(options);
    et::BackendInitContext load(nullptr, &tracer, "forward", nullptr,
                                {options->data(), options->size()});
    et::FreeableBuffer processed("", 0, nullptr);
    auto handle = wrapped.init(load, &processed, {});
    ASSERT_TRUE(handle.ok());
    et::BackendExecutionContext context(&tracer, nullptr, "forward");
    EXPECT_EQ(OfARun([&] { ASSERT_EQ(wrapped.execute(context, *handle, {}), et::Error::Ok); }), 0U)
        << ProfileLevelName(level);
    wrapped.destroy(*handle);
  }
}

TEST(Allocating, IsSeen) {
  EXPECT_GT(Allocations([] { delete new volatile int(1); }), 0U);
  // And in the wheel's libraries.
  EXPECT_GT(Allocations([] { (void)LoadOrFail(Options(Sample("vision_xnnpack.pte"))); }), 100U);
}

}  // namespace
}  // namespace inferprobe::executorch_engine
