#include "analyze/stop_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::vector<int64_t> Samples(size_t n, int64_t ns, double spread = 0.0) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(static_cast<double>(ns),
                                          spread * static_cast<double>(ns));
  std::vector<int64_t> samples(n, ns);
  if (spread > 0) {
    for (int64_t& sample : samples) sample = static_cast<int64_t>(normal(random));
  }
  return samples;
}

StopReason Decide(const StopRule& rule, const std::vector<int64_t>& samples, int64_t elapsed_ns) {
  return StopDecider(rule).Decide(samples, elapsed_ns);
}

TEST(StopRule, DefaultNeedsHundredRunsAndOneSecond) {
  EXPECT_EQ(Decide({}, Samples(99, 1000), 2 * kSecond), StopReason::kContinue);
  EXPECT_EQ(Decide({}, Samples(5000, 1000), kSecond - 1), StopReason::kContinue);
  EXPECT_EQ(Decide({}, Samples(100, 1000), kSecond), StopReason::kPrecise);
}

TEST(StopRule, DefaultGoesOnUntilTheMedianIsKnown) {
  EXPECT_EQ(Decide({}, Samples(100, 1'000'000, 0.3), 2 * kSecond), StopReason::kContinue);
  EXPECT_EQ(Decide({}, Samples(20000, 1'000'000, 0.3), 2 * kSecond), StopReason::kPrecise);
}

TEST(StopRule, BothSidesOfTheIntervalCount) {
  for (const int64_t other : {5000, 200}) {  // far above the median, and far below
    std::vector<int64_t> samples = Samples(200, 1000);
    for (size_t i = 0; i < 98; ++i) samples[2 * i] = other;
    EXPECT_EQ(Decide({}, samples, 2 * kSecond), StopReason::kContinue) << other;
  }
}

// Ranks 85 to 114 of 200 bound the median; only those are alike here.
TEST(StopRule, OnlyTheRanksOfTheIntervalCount) {
  std::vector<int64_t> samples(200, 1000);
  std::fill(samples.begin(), samples.begin() + 85, 10);
  std::fill(samples.end() - 85, samples.end(), 5000);
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::shuffle(samples.begin(), samples.end(), random);
    EXPECT_EQ(Decide({}, samples, 2 * kSecond), StopReason::kPrecise) << trial;
  }
}

// The same answer as from the sorted sample, whatever the order of the samples.
TEST(StopRule, AgreesWithTheSortedSample) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int64_t> samples(100 + random() % 400);
    for (int64_t& sample : samples) {
      sample = 1000 + static_cast<int64_t>(random() % (random() % 3 == 0 ? 200 : 20));
    }
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    const auto interval = PercentileInterval(sorted, 0.5);
    const double median = sorted[sorted.size() / 2];
    const bool precise = std::max(median - interval->low, interval->high - median) <= 0.01 * median;
    EXPECT_EQ(Decide({}, samples, 2 * kSecond),
              precise ? StopReason::kPrecise : StopReason::kContinue);
  }
}

TEST(StopRule, TenSecondsWinOverTheHundredButNotOverThree) {
  EXPECT_EQ(Decide({}, Samples(4, 3 * kSecond), 12 * kSecond), StopReason::kTimeLimit);
  EXPECT_EQ(Decide({}, Samples(3, 5 * kSecond), 15 * kSecond), StopReason::kTimeLimit);
  EXPECT_EQ(Decide({}, Samples(2, 9 * kSecond), 18 * kSecond), StopReason::kContinue);
  EXPECT_EQ(Decide({}, Samples(1000, 1'000'000, 0.8), 10 * kSecond), StopReason::kTimeLimit);
}

TEST(StopRule, IterationsFixTheLength) {
  StopRule rule;
  rule.iterations = 7;
  EXPECT_EQ(Decide(rule, Samples(6, 9 * kSecond), 60 * kSecond), StopReason::kContinue);
  EXPECT_EQ(Decide(rule, Samples(7, 1), 7), StopReason::kIterations);
}

TEST(StopRule, DurationFixesTheLength) {
  StopRule rule;
  rule.duration_s = 0.5;
  EXPECT_EQ(Decide(rule, Samples(100000, 1), kSecond / 2 - 1), StopReason::kContinue);
  EXPECT_EQ(Decide(rule, Samples(5, 1), kSecond / 2), StopReason::kDuration);
  EXPECT_EQ(Decide(rule, Samples(2, kSecond), 2 * kSecond), StopReason::kContinue);
  rule.duration_s = 30;
  EXPECT_EQ(Decide(rule, Samples(500, 1000), 11 * kSecond), StopReason::kContinue);
}

TEST(StopRule, MillionsOfSamplesAreJudgedByAPart) {
  EXPECT_EQ(Decide({}, Samples(3'000'000, 1000, 0.1), 3 * kSecond), StopReason::kPrecise);
}

TEST(StopRule, DecidingAgainGivesTheSameAnswer) {
  StopDecider decider{StopRule{}};
  const std::vector<int64_t> samples = Samples(20000, 1'000'000, 0.3);
  EXPECT_EQ(decider.Decide(samples, 2 * kSecond), StopReason::kPrecise);
  EXPECT_EQ(decider.Decide(samples, 2 * kSecond), StopReason::kPrecise);
  EXPECT_EQ(decider.Decide({}, 0), StopReason::kContinue);
}

}  // namespace
}  // namespace inferprobe::analyze
