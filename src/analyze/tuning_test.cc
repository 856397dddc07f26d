#include "analyze/tuning.h"

#include <gtest/gtest.h>

#include <utility>

namespace inferprobe::analyze {
namespace {

using profile::TuneResult;
using profile::TuneVerdict;

TuneResult Made(std::vector<double> baseline, std::vector<double> again) {
  TuneResult result;
  result.rounds = baseline.size();
  result.candidates.push_back({.name = "default", .medians_ms = std::move(baseline)});
  result.second_ms = std::move(again);
  return result;
}

// Rounds of a quiet machine: about `ms`, the same small unrest for all.
std::vector<double> About(double ms) { return {ms, ms * 1.01, ms * 0.99, ms * 1.005, ms * 0.995}; }
// The same unrest in another order, so that pairs differ.
std::vector<double> Again(double ms) { return {ms * 1.01, ms, ms * 1.005, ms * 0.99, ms * 0.995}; }

TEST(Tuning, TheFastestWithRightOutputsWins) {
  TuneResult result = Made(About(2), Again(2));
  result.candidates.push_back({.name = "1 thread", .threads = 1, .medians_ms = Again(3)});
  result.candidates.push_back({.name = "2 threads", .threads = 2, .medians_ms = Again(1)});
  result.candidates.push_back({.name = "3 threads", .threads = 3, .medians_ms = About(1.5)});
  result.candidates.push_back(
      {.name = "4 threads", .threads = 4, .medians_ms = Again(0.5), .wrong_outputs = true});
  result.candidates.push_back({.name = "5 threads", .threads = 5, .why = "gone", .failed = true});
  JudgeTuning(&result);
  EXPECT_DOUBLE_EQ(result.confidence, 0.99);  // five are compared: 0.05 / 5
  const auto verdict = [&](size_t i) { return result.candidates[i].verdict; };
  EXPECT_EQ(verdict(0), TuneVerdict::kBaseline);
  EXPECT_EQ(verdict(1), TuneVerdict::kSlower);
  EXPECT_EQ(verdict(2), TuneVerdict::kFaster);
  EXPECT_EQ(verdict(3), TuneVerdict::kFaster);
  EXPECT_EQ(verdict(4), TuneVerdict::kWrongOutputs);
  EXPECT_EQ(verdict(5), TuneVerdict::kFailed);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 2u);
  EXPECT_NEAR(*result.candidates[2].ratio, 0.5, 0.01);
  EXPECT_DOUBLE_EQ(*result.candidates[2].p50_ms, 1.0 * 1.0);
  EXPECT_TRUE(result.recommendation.starts_with("2 threads: 2.00 times as fast as default ["))
      << result.recommendation;
  EXPECT_FALSE(result.candidates[5].p50_ms);
}

// What explains a candidate decides nothing.
TEST(Tuning, EfficiencyDoesNotOverrideTheClock) {
  TuneResult result = Made(About(2), Again(2));
  result.candidates.push_back({.name = "idle", .medians_ms = Again(1)});
  result.candidates.back().efficiency = 0.1;
  result.candidates.push_back({.name = "busy", .medians_ms = About(2)});
  result.candidates.back().efficiency = 1.0;
  JudgeTuning(&result);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 1u);
  EXPECT_EQ(result.candidates[2].verdict, TuneVerdict::kNoDifference);
}

TEST(Tuning, NothingIsBetter) {
  TuneResult result = Made(About(2), Again(2));
  result.candidates.push_back({.name = "1 thread", .medians_ms = Again(2)});
  JudgeTuning(&result);
  EXPECT_EQ(result.candidates[1].verdict, TuneVerdict::kNoDifference);
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.recommendation,
            "nothing is shown to be better than default (5 rounds, 95 % for all together)");
}

TEST(Tuning, WhereEveryCandidateFailedNothingIsSaidOfBetter) {
  TuneResult result = Made(About(2), Again(2));
  result.candidates.push_back({.name = "1 thread", .why = "gone", .failed = true});
  result.candidates.push_back({.name = "2 threads", .medians_ms = Again(1), .wrong_outputs = true});
  JudgeTuning(&result);
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.recommendation,
            "nothing to compare with default: every candidate failed, or had other outputs");
}

// A machine on which the default differs from itself tells nothing.
TEST(Tuning, AnUnquietMachineRecommendsNothing) {
  TuneResult result = Made(About(2), About(2.2));
  result.candidates.push_back({.name = "1 thread", .medians_ms = Again(1)});
  JudgeTuning(&result);
  EXPECT_EQ(result.candidates[1].verdict, TuneVerdict::kFaster);
  EXPECT_FALSE(result.best);
  EXPECT_TRUE(result.recommendation.starts_with("cannot tell: default against default gave 1.100"))
      << result.recommendation;
}

TEST(Tuning, TooFewRounds) {
  TuneResult result = Made({2, 2.1}, {2.1, 2});
  result.candidates.push_back({.name = "1 thread", .medians_ms = {1, 1.01}});
  JudgeTuning(&result);
  EXPECT_EQ(result.candidates[1].verdict, TuneVerdict::kTooFewRounds);
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.recommendation, "cannot tell: 2 rounds are too few, 3 are needed (--rounds)");
}

TEST(Tuning, NamesWhatIsNotToldApartFromTheBest) {
  TuneResult result = Made(About(2), Again(2));
  result.candidates.push_back({.name = "a", .medians_ms = Again(1)});
  result.candidates.push_back({.name = "b", .medians_ms = About(1.001)});
  JudgeTuning(&result);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 1u);
  EXPECT_TRUE(result.recommendation.ends_with("; not told apart from it: b"))
      << result.recommendation;
}

}  // namespace
}  // namespace inferprobe::analyze
