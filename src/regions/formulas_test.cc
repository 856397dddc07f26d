// Against values computed by hand.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "inferprobe/region.h"

namespace inferprobe {
namespace {

struct Case {
  const char* name;
  int32_t requested;
  int32_t admitted;
  uint64_t wall_ns;
  std::vector<uint64_t> busy_ns;
  std::optional<double> busy_utilization;
  std::optional<double> imbalance;
  uint64_t idle_core_ns;
};

class Formulas : public testing::TestWithParam<Case> {};

TEST_P(Formulas, AreWhatAHandComputes) {
  std::vector<RegionParticipant> participants;
  uint64_t sum = 0;
  for (const uint64_t busy : GetParam().busy_ns) {
    participants.emplace_back().busy_ns = busy;
    sum += busy;
  }
  ParallelRegionEvent event;
  event.requested_threads = GetParam().requested;
  event.admitted_threads = GetParam().admitted;
  event.wall_time_ns = GetParam().wall_ns;
  event.participants = participants;
  event.participants_status = Status::kValid;
  EXPECT_EQ(event.busy_ns(), sum);
  const auto same = [](std::optional<double> found, std::optional<double> wanted) {
    ASSERT_EQ(found.has_value(), wanted.has_value());
    if (found) {
      EXPECT_DOUBLE_EQ(*found, *wanted);
    }
  };
  same(event.busy_utilization(), GetParam().busy_utilization);
  same(event.imbalance(), GetParam().imbalance);
  EXPECT_EQ(event.idle_core_ns(), GetParam().idle_core_ns);

  // Its thread is counted in the region around it.
  event.nested_inline = true;
  EXPECT_FALSE(event.idle_core_ns());
  event.nested_inline = false;

  event.participants_status = Status::kNotRequested;
  EXPECT_FALSE(event.busy_ns() || event.busy_utilization() || event.imbalance() ||
               event.idle_core_ns() || event.worker_cpu_time_ns());
}

INSTANTIATE_TEST_SUITE_P(
    Region, Formulas,
    testing::Values(Case{"Full", 4, 4, 1000, {1000, 1000, 1000, 1000}, 1.0, 1.0, 0},
                    Case{"ThreeTimesTheWork", 4, 4, 1200, {1200, 400, 400, 400}, 0.5, 2.0, 2400},
                    Case{"SerialOfFour", 4, 1, 1000, {1000}, 1.0, {}, 3000},
                    Case{"AdmittedButNotSeen", 4, 4, 1000, {500}, 0.125, {}, 3500},
                    Case{"NobodyTookPart", 4, 0, 1000, {}, {}, {}, 4000},
                    Case{"TooShortForTheClock", 2, 2, 0, {0, 0}, {}, {}, 0},
                    // Clock readings on several CPUs: never below zero.
                    Case{"MoreBusyThanThereWas", 2, 2, 100, {101, 101}, 1.01, 1.0, 0},
                    Case{"ALongDay",
                         1024,
                         1024,
                         86'400'000'000'000,
                         {86'400'000'000'000},
                         1.0 / 1024,
                         {},
                         86'400'000'000'000 * 1023}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(WorkerCpuTime, IsKnownOnlyWhereItIsOfAll) {
  std::vector<RegionParticipant> participants(2);
  ParallelRegionEvent event;
  event.participants_status = Status::kValid;
  event.participants = participants;
  EXPECT_FALSE(event.worker_cpu_time_ns().has_value());
  participants[0].cpu_time_ns = 30;
  participants[0].cpu_time_status = Status::kValid;
  EXPECT_FALSE(event.worker_cpu_time_ns().has_value());
  participants[1].cpu_time_ns = 12;
  participants[1].cpu_time_status = Status::kValid;
  EXPECT_EQ(event.worker_cpu_time_ns(), 42U);
}

}  // namespace
}  // namespace inferprobe
