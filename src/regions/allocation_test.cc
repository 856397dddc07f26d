// Counts every allocation of this program: once its executor and collector are made and its threads
// have run, a loop makes none, seen or not. A program of its own, because it replaces malloc.
#include <gtest/gtest.h>

#include "base/counting_malloc.h"
#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"

namespace inferprobe {
namespace {

using base::Allocations;

void ManyLoops(const ExecutorView& view) {
  for (int i = 0; i < 500; ++i) {
    ParallelFor(
        view, 40, 3,
        [&](int64_t begin, int64_t) {
          if (begin == 0) ParallelFor(view, 4, 1, [](int64_t, int64_t) {}, "inner");
        },
        "outer");
  }
}

TEST(Allocations, AreSeen) {
  EXPECT_EQ(Allocations([] {
              int* number = new int;
              asm volatile("" : "+r"(number));  // or the pair is optimised away
              delete number;
            }),
            1U);
}

TEST(Allocations, NoneWhileDisabled) {
  CpuExecutor executor(4);
  ManyLoops(executor);
  EXPECT_EQ(Allocations([&] { ManyLoops(executor); }), 0U);
}

class Enabled : public testing::TestWithParam<RegionDetail> {};

TEST_P(Enabled, NoneAlsoWhenFull) {
  CpuExecutor executor(4);
  ParallelRegionCollector regions(RegionCollectorOptions{.capacity = 1500, .detail = GetParam()});
  const ExecutorView view(executor, &regions);
  ManyLoops(view);
  EXPECT_EQ(regions.dropped(), 0U);
  EXPECT_EQ(Allocations([&] { ManyLoops(view); }), 0U);
  EXPECT_EQ(regions.dropped(), 500U);
  EXPECT_EQ(Allocations([&] { regions.Clear(); }), 0U);
}

TEST_P(Enabled, NoneWithACallback) {
  CpuExecutor executor(4);
  uint64_t seen = 0;  // loops of several threads call back
  std::atomic<uint64_t> inner{0};
  ParallelRegionCollector regions(RegionCollectorOptions{
      .detail = GetParam(), .callback = [&](const ParallelRegionEvent& event) {
        if (event.nested_inline) {
          ++inner;
        } else {
          ++seen;
        }
      }});
  const ExecutorView view(executor, &regions);
  ManyLoops(view);
  EXPECT_EQ(Allocations([&] { ManyLoops(view); }), 0U);
  EXPECT_EQ(seen, 1000U);
  EXPECT_EQ(inner.load(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(Allocations, Enabled,
                         testing::Values(RegionDetail::kWall, RegionDetail::kBusy,
                                         RegionDetail::kCpuClock),
                         [](const auto& param_info) {
                           return param_info.param == RegionDetail::kWall   ? "Wall"
                                  : param_info.param == RegionDetail::kBusy ? "Busy"
                                                                            : "CpuClock";
                         });

}  // namespace
}  // namespace inferprobe
