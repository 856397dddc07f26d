#include "analyze/perturbation.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace inferprobe::analyze {
namespace {

using profile::Profile;
using profile::RunMode;
using profile::Status;

constexpr RunMode kOff = RunMode::kPairOff;
constexpr RunMode kNull = RunMode::kPairNull;
constexpr RunMode kOn = RunMode::kPairOn;

void Add(Profile& profile, uint32_t group, RunMode mode, int64_t dur_ns, uint16_t process = 0) {
  profile::Run run;
  run.mode = mode;
  run.group = group;
  run.dur_ns = dur_ns;
  run.process = process;
  profile.runs.push_back(run);
}

TEST(Perturbation, PairsWithinGroupsInAnyOrder) {
  Profile profile;
  for (int64_t i = 0; i < 30; ++i) {
    const auto group = static_cast<uint32_t>(i + 1);
    const int64_t drift = 1000 * (i + 1);  // the machine gets slower: pairs do not care
    if (i % 2 == 0) {
      Add(profile, group, kOff, 100 * drift);
      Add(profile, group, kNull, 101 * drift);
      Add(profile, group, kOn, 110 * drift);
    } else {
      Add(profile, group, kOn, 110 * drift);
      Add(profile, group, kOff, 100 * drift);
      Add(profile, group, kNull, 101 * drift);
    }
  }
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 30U);
  EXPECT_NEAR(*result.ratio, 1.10, 1e-9);
  EXPECT_NEAR(result.interval->low, 1.10, 1e-9);
  EXPECT_NEAR(*result.null_ratio, 1.01, 1e-9);
  EXPECT_NEAR(*result.profiled_p50_ms, 0.110 * 15.5, 1e-9);
  EXPECT_NEAR(*result.unprofiled_p50_ms, 0.100 * 15.5, 1e-9);
}

TEST(Perturbation, ProcessesAreNotMixed) {
  Profile profile;
  Add(profile, 1, kOff, 100, 0);
  Add(profile, 1, kOff, 1000, 1);
  Add(profile, 1, kOn, 120, 0);
  Add(profile, 1, kOn, 1200, 1);
  Add(profile, 0, RunMode::kLatency, 5, 0);
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 2U);
  EXPECT_DOUBLE_EQ(*result.ratio, 1.2);
  EXPECT_EQ(result.null_ratio.missing().status, Status::kNotMeasured);
}

TEST(Perturbation, AnIncompleteGroupIsLeftOut) {
  Profile profile;
  Add(profile, 1, kOff, 100);
  Add(profile, 1, kNull, 100);  // the on run of the first group is missing
  Add(profile, 2, kOff, 100);
  Add(profile, 2, kNull, 100);
  Add(profile, 2, kOn, 150);
  Add(profile, 3, kOn, 999);  // the end of the loop
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 1U);
  EXPECT_EQ(result.ratio.missing().hint, "needs 2, has 1");
}

// Each group is ten times as slow as the one before it: a ratio across groups would show.
TEST(Perturbation, ALostRunDoesNotShiftTheGroupsBehindIt) {
  Profile profile;
  int64_t scale = 100;
  for (uint32_t group = 1; group <= 6; ++group, scale *= 10) {
    if (group != 1) Add(profile, group, kOff, 10 * scale);  // its off run was lost
    if (group != 3) Add(profile, group, kNull, 10 * scale);
    if (group != 4) Add(profile, group, kOn, 12 * scale);
  }
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 4U);
  EXPECT_DOUBLE_EQ(*result.ratio, 1.2);
  EXPECT_DOUBLE_EQ(*result.null_ratio, 1);
}

TEST(Perturbation, ANumberThatComesAgainLaterIsAnotherGroup) {
  Profile profile;  // the counter wraps
  Add(profile, 1, kOff, 100);
  Add(profile, 2, kOff, 1000);
  Add(profile, 2, kOn, 1200);
  Add(profile, 1, kOn, 50'000);
  Add(profile, 1, kOff, 10'000);
  Add(profile, 2, kOff, 100'000);
  Add(profile, 2, kOn, 120'000);
  Add(profile, 2, kOff, 900'000);  // again, with all of the numbers between lost
  Add(profile, 2, kOn, 1'080'000);
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 4U);
  EXPECT_DOUBLE_EQ(*result.profiled_p50_ms, (120'000 + 50'000) / 2.0 / 1e6);
}

TEST(Perturbation, RunsWithoutAGroupArePairedWithNothing) {
  Profile profile;
  for (int i = 0; i < 2; ++i) {
    Add(profile, 0, kOff, 100);
    Add(profile, 0, kOn, 110);
  }
  EXPECT_EQ(AnalyzePerturbation(profile).pairs, 0U);
}

TEST(Perturbation, GroupsWithoutASecondOffRunStillPair) {
  Profile profile;
  for (uint32_t group = 1; group <= 2; ++group) {
    Add(profile, group, kOff, 100);
    Add(profile, group, kOn, 110);
  }
  EXPECT_EQ(AnalyzePerturbation(profile).pairs, 2U);
}

TEST(Perturbation, NothingMeasuredSaysSo) {
  const profile::Perturbation result = AnalyzePerturbation(Profile{});
  EXPECT_EQ(result.pairs, 0U);
  EXPECT_EQ(result.ratio.missing().status, Status::kNotMeasured);
  EXPECT_FALSE(result.ratio.missing().hint.empty());
}

}  // namespace
}  // namespace inferprobe::analyze
