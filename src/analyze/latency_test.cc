#include "analyze/latency.h"

#include <gtest/gtest.h>

#include <numeric>

namespace inferprobe::analyze {
namespace {

using profile::Profile;
using profile::RunMode;
using profile::Status;

void Add(Profile& profile, RunMode mode, int64_t dur_ns, uint16_t process = 0) {
  profile::Run run;
  run.mode = mode;
  run.dur_ns = dur_ns;
  run.process = process;
  profile.runs.push_back(run);
}

TEST(Latency, ComesFromUnprofiledRunsOnly) {
  Profile profile;
  Add(profile, RunMode::kFirst, 9'000'000);
  Add(profile, RunMode::kWarmup, 5'000'000);
  for (int i = 0; i < 10; ++i) Add(profile, RunMode::kLatency, 1'000'000 + i * 1000);
  Add(profile, RunMode::kPairOn, 7'000'000);
  Add(profile, RunMode::kPairOff, 7'000'000);
  const LatencyAnalysis result = AnalyzeLatency(profile, {.warmup_requested = 1});
  EXPECT_EQ(result.latency.count, 10U);
  EXPECT_DOUBLE_EQ(*result.latency.avg, 1.0045);
  EXPECT_DOUBLE_EQ(*result.latency.percentiles[0].value, 1.0045);
  EXPECT_EQ(*result.latency.max, 1.009);
  EXPECT_DOUBLE_EQ(*result.latency.rate_single_stream_per_s, 1000 / 1.0045);
  EXPECT_EQ(*result.first_run_ms, 9);
  EXPECT_EQ(result.warmup.excluded, 1U);
  EXPECT_EQ(result.warmup.rule, "count");
  EXPECT_EQ(result.runs[0].front(), 2U);
  EXPECT_EQ(result.latency.percentiles[3].value.missing().hint, "needs 100, has 10");
  EXPECT_EQ(result.latency.avg_interval.missing().status, Status::kTooFewSamples);
}

TEST(Latency, AChangePointMovesRunsToWarmUp) {
  Profile profile;
  for (int i = 0; i < 3; ++i) Add(profile, RunMode::kWarmup, 3'000'000);
  for (int i = 0; i < 20; ++i) Add(profile, RunMode::kLatency, 2'000'000 + i % 7 * 1000);
  for (int i = 0; i < 80; ++i) Add(profile, RunMode::kLatency, 1'000'000 + i % 7 * 1000);
  const LatencyAnalysis result = AnalyzeLatency(profile, {.warmup_requested = 3});
  EXPECT_EQ(result.warmup.excluded, 23U);
  EXPECT_EQ(result.warmup.rule, "change point");
  EXPECT_TRUE(*result.warmup.steady);
  EXPECT_EQ(*result.warmup.steady_after, 20);
  EXPECT_EQ(result.warmup.samples_ms[0].size(), 23U);
  EXPECT_EQ(result.latency.count, 80U);
  EXPECT_EQ(result.runs[0].front(), 23U);
  EXPECT_LT(*result.latency.max, 1.01);
  const LatencyAnalysis kept =
      AnalyzeLatency(profile, {.warmup_requested = 3, .find_steady_state = false});
  EXPECT_EQ(kept.latency.count, 100U);
  EXPECT_EQ(kept.warmup.excluded, 3U);
  EXPECT_EQ(kept.warmup.rule, "count");
  EXPECT_TRUE(*kept.warmup.steady);
  EXPECT_EQ(*kept.warmup.steady_after, 20);
}

TEST(Latency, ADriftIsReportedWhereNothingIsCut) {
  Profile profile;
  for (int i = 0; i < 100; ++i) Add(profile, RunMode::kLatency, 1'000'000 + i * 10'000);
  const LatencyAnalysis kept = AnalyzeLatency(profile, {.find_steady_state = false});
  EXPECT_FALSE(*kept.warmup.steady);
  EXPECT_EQ(kept.latency.count, 100U);
}

TEST(Latency, WhatWasNotTestedIsNotSteady) {
  Profile profile;
  for (int i = 0; i < 15; ++i) Add(profile, RunMode::kLatency, 1'000'000);
  const auto steady = [&] { return AnalyzeLatency(profile, {}).warmup.steady; };
  ASSERT_FALSE(steady().has_value());
  EXPECT_EQ(steady().missing().status, Status::kTooFewSamples);
  EXPECT_EQ(steady().missing().hint, "needs 20, has 15");
  for (int i = 0; i < 30; ++i) Add(profile, RunMode::kLatency, 1'000'000, 2);
  EXPECT_FALSE(steady().has_value());  // the other process is still too short
  for (int i = 0; i < 5; ++i) Add(profile, RunMode::kLatency, 1'000'000);
  EXPECT_TRUE(steady().has_value());
  EXPECT_EQ(AnalyzeLatency(Profile{}, {}).warmup.steady.missing().status, Status::kNotMeasured);
}

TEST(Latency, ProcessesStayApartAndGiveTheIntervalOfTheMean) {
  Profile profile;
  for (uint16_t process = 0; process < 3; ++process) {
    Add(profile, RunMode::kFirst, 1'000'000 * (process + 1), process);
    for (int i = 0; i < 5; ++i) Add(profile, RunMode::kLatency, 1'000'000 * (process + 1), process);
  }
  const LatencyAnalysis result = AnalyzeLatency(profile, {});
  ASSERT_EQ(result.latency.samples_ms.size(), 3U);
  EXPECT_EQ(result.latency.samples_ms[2], std::vector<double>(5, 3.0));
  EXPECT_EQ(*result.first_run_ms, 2);
  // Means 1, 2, 3: 2 +- 4.303 * 1 / sqrt(3).
  EXPECT_NEAR(result.latency.avg_interval->low, 2 - 2.4841, 1e-3);
  EXPECT_NEAR(result.latency.avg_interval->high, 2 + 2.4841, 1e-3);
}

TEST(Latency, NoRunIsMissingNotZero) {
  const LatencyAnalysis result = AnalyzeLatency(Profile{}, {});
  EXPECT_EQ(result.latency.count, 0U);
  EXPECT_EQ(result.latency.avg.missing().status, Status::kNotMeasured);
  EXPECT_EQ(result.latency.percentiles[0].value.missing().hint, "needs 2, has 0");
  EXPECT_EQ(result.first_run_ms.missing().status, Status::kNotMeasured);
}

TEST(Latency, ProcessWithoutRunsKeepsItsPlace) {
  Profile profile;
  Add(profile, RunMode::kLatency, 1'000'000, 2);
  const LatencyAnalysis result = AnalyzeLatency(profile, {});
  ASSERT_EQ(result.latency.samples_ms.size(), 3U);
  EXPECT_TRUE(result.latency.samples_ms[0].empty());
  EXPECT_EQ(result.latency.std.missing().hint, "needs 2, has 1");
}

}  // namespace
}  // namespace inferprobe::analyze
