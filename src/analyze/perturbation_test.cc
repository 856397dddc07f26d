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

void Add(Profile& profile, RunMode mode, int64_t dur_ns, uint16_t process = 0) {
  profile::Run run;
  run.mode = mode;
  run.dur_ns = dur_ns;
  run.process = process;
  profile.runs.push_back(run);
}

TEST(Perturbation, PairsWithinGroupsInAnyOrder) {
  Profile profile;
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t drift = 1000 * (i + 1);  // the machine gets slower: pairs do not care
    if (i % 2 == 0) {
      Add(profile, kOff, 100 * drift);
      Add(profile, kNull, 101 * drift);
      Add(profile, kOn, 110 * drift);
    } else {
      Add(profile, kOn, 110 * drift);
      Add(profile, kOff, 100 * drift);
      Add(profile, kNull, 101 * drift);
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
  Add(profile, kOff, 100, 0);
  Add(profile, kOff, 1000, 1);
  Add(profile, kOn, 120, 0);
  Add(profile, kOn, 1200, 1);
  Add(profile, RunMode::kLatency, 5, 0);
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 2U);
  EXPECT_DOUBLE_EQ(*result.ratio, 1.2);
  EXPECT_EQ(result.null_ratio.missing().status, Status::kNotMeasured);
}

TEST(Perturbation, AnIncompleteGroupIsLeftOut) {
  Profile profile;
  Add(profile, kOff, 100);
  Add(profile, kNull, 100);
  Add(profile, kOff, 100);  // the on run of the first group is missing
  Add(profile, kNull, 100);
  Add(profile, kOn, 150);
  Add(profile, kOn, 999);  // the end of the loop
  const profile::Perturbation result = AnalyzePerturbation(profile);
  EXPECT_EQ(result.pairs, 1U);
  EXPECT_EQ(result.ratio.missing().hint, "needs 2, has 1");
}

TEST(Perturbation, GroupsWithoutASecondOffRunStillPair) {
  Profile profile;
  for (int i = 0; i < 2; ++i) {
    Add(profile, kOff, 100);
    Add(profile, kOn, 110);
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
