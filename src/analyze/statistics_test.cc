#include "analyze/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

namespace inferprobe::analyze {
namespace {

using profile::Status;

// What scipy and numpy say; written by tools/generate_statistics_golden.py.
const nlohmann::json& Golden() {
  static const nlohmann::json golden = nlohmann::json::parse(
      std::ifstream(INFERPROBE_SOURCE_DIR "/tests/golden/statistics/scipy.json"));
  return golden;
}

std::vector<double> OneTo(int n) {
  std::vector<double> samples(static_cast<size_t>(n));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

double Tolerance(double value) { return 1e-12 * std::max(1.0, std::fabs(value)); }

TEST(Statistics, AgreesWithScipyOnQuantilesMeanStdAndTInterval) {
  ASSERT_FALSE(Golden()["samples"].empty());
  for (const auto& item : Golden()["samples"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const auto samples = item["samples"].get<std::vector<double>>();
    const std::vector<double> sorted = Sorted(samples);
    for (size_t i = 0; i < Golden()["percentiles"].size(); ++i) {
      const double expected = item["quantiles"][i].get<double>();
      EXPECT_NEAR(Quantile(sorted, Golden()["percentiles"][i].get<double>()), expected,
                  Tolerance(expected));
    }
    EXPECT_NEAR(Mean(samples), item["mean"].get<double>(), Tolerance(Mean(samples)));
    if (!item.contains("std")) {
      EXPECT_EQ(SampleStd(samples).missing().status, Status::kTooFewSamples);
      EXPECT_EQ(MeanInterval(samples).missing().status, Status::kTooFewSamples);
      continue;
    }
    EXPECT_NEAR(*SampleStd(samples), item["std"].get<double>(), Tolerance(*SampleStd(samples)));
    EXPECT_NEAR(MeanInterval(samples)->low, item["t_interval"][0].get<double>(),
                1e-10 * Mean(samples));
    EXPECT_NEAR(MeanInterval(samples)->high, item["t_interval"][1].get<double>(),
                1e-10 * Mean(samples));
  }
}

TEST(Statistics, RanksOfIntervalsAgreeWithScipy) {
  ASSERT_GT(Golden()["ranks"].size(), 100U);
  for (const auto& item : Golden()["ranks"]) {
    const auto n = item["n"].get<uint64_t>();
    const auto p = item["p"].get<double>();
    SCOPED_TRACE(testing::Message() << "n " << n << " p " << p);
    const auto ranks = QuantileRanks(n, p);
    ASSERT_EQ(ranks.has_value(), !item["ranks"].is_null());
    if (!ranks) continue;
    EXPECT_EQ(ranks->low, item["ranks"][0].get<size_t>());
    ASSERT_EQ(ranks->high.has_value(), !item["ranks"][1].is_null());
    if (ranks->high) {
      EXPECT_EQ(*ranks->high, item["ranks"][1].get<size_t>());
    }
  }
}

TEST(Statistics, MedianOfEvenCountIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(Quantile(OneTo(100), 0.5), 50.5);
  EXPECT_EQ(*PercentileOf(OneTo(2), 0.5), 1.5);
}

TEST(Statistics, PercentileSaysHowManySamplesItNeeds) {
  const auto refused = PercentileOf(OneTo(99), 0.99);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.missing().status, Status::kTooFewSamples);
  EXPECT_EQ(refused.missing().hint, "needs 100, has 99");
  EXPECT_TRUE(PercentileOf(OneTo(100), 0.99));
  EXPECT_EQ(SamplesNeeded(0.5), 2U);
  EXPECT_EQ(SamplesNeeded(0.9), 10U);
  EXPECT_EQ(SamplesNeeded(0.95), 20U);
  EXPECT_EQ(SamplesNeeded(0.99), 100U);
  EXPECT_EQ(SamplesNeeded(0.999), 1000U);
  EXPECT_FALSE(PercentileOf({}, 0.5));
}

TEST(Statistics, IntervalIsOpenAboveInSmallSamples) {
  const struct {
    double p;
    int closed_from;
  } cases[] = {{0.9, 29}, {0.95, 59}, {0.99, 299}};
  for (const auto& item : cases) {
    EXPECT_TRUE(PercentileInterval(OneTo(item.closed_from - 1), item.p)->open_above) << item.p;
    EXPECT_FALSE(PercentileInterval(OneTo(item.closed_from), item.p)->open_above) << item.p;
  }
}

TEST(Statistics, MedianOfFourSamplesHasNoInterval) {
  const auto interval = PercentileInterval(OneTo(4), 0.5);
  ASSERT_FALSE(interval);
  EXPECT_EQ(interval.missing().hint, "needs 5, has 4");
}

// The definition itself: the interval holds the quantile of the population in at least 95 % of
// samples. 4,000 samples of a fixed seed leave 0.35 % of noise.
TEST(Statistics, IntervalCoversThePopulationQuantile) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const double p : {0.5, 0.9, 0.99}) {
    for (const size_t n : {20U, 60U, 400U}) {
      int covered = 0;
      constexpr int kTrials = 4000;
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> samples(n);
        for (double& sample : samples) sample = uniform(random);
        const auto interval = PercentileInterval(Sorted(samples), p);
        ASSERT_TRUE(interval);
        covered += interval->low <= p && (interval->open_above || p <= interval->high) ? 1 : 0;
      }
      EXPECT_GE(covered, 0.94 * kTrials) << "p " << p << " n " << n;
    }
  }
}

TEST(Statistics, MedianRatioIsTheSignIntervalOfTheRatios) {
  const std::vector<double> ratios = {1.04, 1.02, 1.03, 0.99, 1.05, 1.01, 1.06, 1.00, 1.07, 1.08};
  const MedianRatio result = MedianOfRatios(ratios);
  EXPECT_DOUBLE_EQ(*result.ratio, 1.035);
  // Ten pairs: the sign test takes the second and the ninth of them.
  EXPECT_DOUBLE_EQ(result.interval->low, 1.00);
  EXPECT_DOUBLE_EQ(result.interval->high, 1.07);
}

}  // namespace
}  // namespace inferprobe::analyze
