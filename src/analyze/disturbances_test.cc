#include "analyze/disturbances.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace inferprobe::analyze {
namespace {

using profile::BlockReading;
using profile::Disturbance;
using profile::Profile;
using profile::RunMode;

// 100 runs of 1 ms, back to back, some jitter.
Profile Quiet() {
  Profile profile;
  for (int64_t i = 0; i < 100; ++i) {
    profile::Run run;
    run.mode = RunMode::kLatency;
    run.start_ns = i * 1'000'000;
    run.dur_ns = 1'000'000 + i * 37 % 11 * 1000;
    profile.runs.push_back(run);
  }
  return profile;
}

std::vector<Disturbance> Find(const Profile& profile, std::vector<BlockReading> blocks = {}) {
  return FindDisturbances(profile, AnalyzeLatency(profile, {}), blocks);
}

const Disturbance* Get(const std::vector<Disturbance>& found, const std::string& kind) {
  const auto at = std::find_if(found.begin(), found.end(),
                               [&](const Disturbance& item) { return item.kind == kind; });
  return at == found.end() ? nullptr : &*at;
}

BlockReading Block(int64_t start_ns, int64_t end_ns) {
  BlockReading block;
  block.start_ns = start_ns;
  block.end_ns = end_ns;
  return block;
}

TEST(Disturbances, AQuietMachineHasNone) { EXPECT_TRUE(Find(Quiet()).empty()); }

TEST(Disturbances, UnreadableSourcesAreNoFinding) {
  EXPECT_TRUE(Find(Quiet(), {Block(0, 100'000'000), Block(100'000'000, 200'000'000)}).empty());
}

TEST(Disturbances, DelayedRunsAreTaggedAboveFivePercentOfTheMedian) {
  Profile profile = Quiet();
  profile.runs[17].disturbance.run_queue_delay_ns = 300'000;
  profile.runs[18].disturbance.run_queue_delay_ns = 600'000;
  profile.runs[20].disturbance.run_queue_delay_ns = 40'000;  // below 5 % of 1 ms
  profile.runs[21].disturbance.run_queue_delay_ns = -1;      // not known
  const auto found = Find(profile);
  const Disturbance* delay = Get(found, "run_queue_delay");
  ASSERT_NE(delay, nullptr);
  EXPECT_EQ(delay->runs, (std::vector<uint32_t>{17, 18}));
  EXPECT_EQ(*delay->ns, 900'000);
  EXPECT_TRUE(delay->warning);
  EXPECT_NE(delay->text.find("2 runs were delayed"), std::string::npos) << delay->text;
}

TEST(Disturbances, OneRunInAHundredIsListedWithoutAWarning) {
  Profile profile = Quiet();
  profile.runs[5].disturbance.major_faults = 3;
  const auto found = Find(profile);
  const Disturbance* faults = Get(found, "major_faults");
  ASSERT_NE(faults, nullptr);
  EXPECT_FALSE(faults->warning);
  EXPECT_EQ(*faults->value, 3);
  EXPECT_FALSE(faults->ns);
}

TEST(Disturbances, RunIndicesCountSamplesNotWarmUp) {
  Profile profile = Quiet();
  for (size_t i = 0; i < 30; ++i) profile.runs[i].dur_ns *= 3;  // cut by the change point
  profile.runs[40].disturbance.involuntary_switches = 2;
  const auto found = Find(profile);
  const Disturbance* switches = Get(found, "involuntary_switches");
  ASSERT_NE(switches, nullptr);
  EXPECT_EQ(switches->runs, std::vector<uint32_t>{10});
}

TEST(Disturbances, OutliersAreTagged) {
  Profile profile = Quiet();
  profile.runs[50].dur_ns = 30'000'000;
  profile.runs[60].dur_ns = 10'000;  // fast: no outlier of this kind
  const auto found = Find(profile);
  const Disturbance* outliers = Get(found, "outliers");
  ASSERT_NE(outliers, nullptr);
  EXPECT_EQ(outliers->runs, std::vector<uint32_t>{50});
  EXPECT_EQ(*outliers->value, 30);
}

// Median 10, and a median absolute deviation of 1.
TEST(Disturbances, TheOutlierLimitIsHyperfines) {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(9 + i % 3);
  samples.push_back(10 + 14);
  samples.push_back(10 + 18);
  EXPECT_EQ(SlowOutliers(samples, DisturbanceLimits{}.outlier_deviations),
            std::vector<uint32_t>{31});
}

TEST(Disturbances, EqualSamplesHaveNoOutliers) {
  std::vector<double> samples(20, 1.0);
  samples[3] = 100;
  EXPECT_TRUE(SlowOutliers(samples, 14.826).empty());
}

TEST(Disturbances, DriftIsAWarning) {
  Profile profile = Quiet();
  for (size_t i = 0; i < 100; ++i) profile.runs[i].dur_ns += static_cast<int64_t>(i) * 10'000;
  const auto found = Find(profile);
  ASSERT_NE(Get(found, "not_steady"), nullptr);
  EXPECT_TRUE(Get(found, "not_steady")->warning);
}

TEST(Disturbances, BlocksWithoutALatencySampleAreLeftOut) {
  Profile profile = Quiet();
  profile.runs.front().mode = RunMode::kWarmup;
  std::vector<BlockReading> blocks = {Block(-5'000'000, 1'000'000), Block(1'000'000, 100'020'000),
                                      Block(100'020'000, 200'000'000), Block(0, 100'000'000)};
  blocks[3].process = 7;  // has no samples at all
  for (const size_t other : {0U, 2U, 3U}) {
    blocks[other].steal_ticks = 4;
    blocks[other].psi_cpu_some_us = 90'000;
    blocks[other].temperature_c = 99.0;
    blocks[other].canary_ns = 90'000;
    blocks[other].freq_khz_max = 3'000'000;
  }
  blocks[1].canary_ns = 130'000;
  blocks[1].freq_khz_max = 2'400'000;
  // The last sample reaches a little into the third block.
  profile.runs.back().dur_ns = 1'040'000;
  EXPECT_EQ(Find(profile, {blocks[0], blocks[1], blocks[3]}).size(), 0U);
  blocks[1].psi_cpu_some_us = 0;
  EXPECT_NE(Get(Find(profile, blocks), "steal"), nullptr);
}

TEST(Disturbances, BlocksSpeakOfTheMachine) {
  std::vector<BlockReading> blocks = {Block(0, 50'000'000), Block(50'000'000, 100'000'000)};
  blocks[0].steal_ticks = 0;
  blocks[1].steal_ticks = 2;
  blocks[0].psi_cpu_some_us = 1000;
  blocks[1].psi_cpu_some_us = 9000;
  blocks[0].psi_io_some_us = 10;
  blocks[0].freq_khz_max = 3'000'000;
  blocks[1].freq_khz_max = 2'400'000;
  blocks[1].temperature_c = 97.0;
  blocks[0].quota_throttled_us = 0;
  blocks[1].quota_throttled_us = 700;
  blocks[1].thermal_throttles = 3;
  blocks[0].canary_ns = 100'000;
  blocks[1].canary_ns = 130'000;
  const auto found = Find(Quiet(), blocks);
  ASSERT_NE(Get(found, "steal"), nullptr);
  EXPECT_EQ(*Get(found, "steal")->ns, 20'000'000);
  EXPECT_EQ(Get(found, "steal")->runs.size(), 50U);
  EXPECT_EQ(Get(found, "steal")->runs.front(), 50U);
  ASSERT_NE(Get(found, "quota"), nullptr);
  EXPECT_EQ(*Get(found, "quota")->ns, 700'000);
  EXPECT_EQ(Get(found, "quota")->runs.front(), 50U);
  ASSERT_NE(Get(found, "thermal_throttling"), nullptr);
  EXPECT_EQ(*Get(found, "thermal_throttling")->value, 3);
  ASSERT_NE(Get(found, "cpu_pressure"), nullptr);
  EXPECT_EQ(*Get(found, "cpu_pressure")->ns, 10'000'000);
  EXPECT_EQ(Get(found, "io_pressure"), nullptr);
  ASSERT_NE(Get(found, "frequency_changed"), nullptr);
  ASSERT_NE(Get(found, "hot"), nullptr);
  ASSERT_NE(Get(found, "throttled"), nullptr);
  EXPECT_DOUBLE_EQ(*Get(found, "throttled")->value, 1.3);
  for (const Disturbance& item : found) EXPECT_FALSE(item.text.empty()) << item.kind;
}

// The kernel's clocks and ours are not one.
TEST(Disturbances, NoMoreThanAllOfTheTimeIsSpentWaiting) {
  std::vector<BlockReading> blocks = {Block(0, 100'000'000)};
  const auto text = [&](int64_t waited_us) {
    blocks[0].psi_cpu_some_us = waited_us;
    return Get(Find(Quiet(), blocks), "cpu_pressure")->text;
  };
  EXPECT_EQ(text(99'000), "some task waited for a CPU during 99.0 % of the measurement");
  EXPECT_EQ(text(100'100), "some task waited for a CPU during all of the measurement");
}

}  // namespace
}  // namespace inferprobe::analyze
