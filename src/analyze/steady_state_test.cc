#include "analyze/steady_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace inferprobe::analyze {
namespace {

// Latencies around 1 ms as they are: skewed, and each like the one before (correlation 0.46).
std::vector<double> Noise(size_t n, uint64_t seed, double spread = 0.03,
                          double correlation = 0.46) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> samples(n);
  double state = normal(random);
  for (double& sample : samples) {
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
    sample = std::exp(spread * state);
  }
  return samples;
}

TEST(SteadyState, CutsNothingFromStationaryNoise) {
  constexpr int kSeeds = 300;
  for (const size_t n : {30U, 100U, 1000U}) {
    int cut = 0;
    int unsteady = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const SteadyState state = FindSteadyState(Noise(n, seed));
      cut += state.start != 0 ? 1 : 0;
      unsteady += state.steady ? 0 : 1;
    }
    EXPECT_LE(cut, kSeeds * 5 / 100) << "n " << n;
    EXPECT_LE(unsteady, kSeeds * 5 / 100) << "n " << n;
  }
}

TEST(SteadyState, FindsAPlantedSlowStart) {
  constexpr int kSeeds = 100;
  for (const size_t planted : {8U, 20U, 45U}) {
    int found = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      std::vector<double> samples = Noise(100, seed);
      for (size_t i = 0; i < planted; ++i) samples[i] *= 1.5;
      const SteadyState state = FindSteadyState(samples);
      EXPECT_GE(state.start, planted) << "seed " << seed;
      found += state.steady && state.start <= planted + 1 ? 1 : 0;
    }
    // What is behind the step may look like another change, as anywhere.
    EXPECT_GE(found, kSeeds * 95 / 100) << planted;
  }
}

TEST(SteadyState, FindsASlowStartInSteps) {
  std::vector<double> samples = Noise(400, 3);
  for (size_t i = 0; i < 40; ++i) samples[i] *= 2;
  for (size_t i = 40; i < 90; ++i) samples[i] *= 1.3;
  const SteadyState state = FindSteadyState(samples);
  EXPECT_TRUE(state.steady);
  EXPECT_NEAR(static_cast<double>(state.start), 90, 5);
}

TEST(SteadyState, ADecayingStartIsCutToWhereItEnds) {
  std::vector<double> samples = Noise(500, 5);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] *= 1 + 0.8 * std::exp(-static_cast<double>(i) / 25);
  }
  const SteadyState state = FindSteadyState(samples);
  EXPECT_TRUE(state.steady);
  EXPECT_GE(state.start, 40U);
  EXPECT_LE(state.start, 150U);
}

TEST(SteadyState, OutliersAreNoChange) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<double> samples = Noise(200, seed);
    for (const size_t i : {3U, 50U, 51U, 120U, 190U}) samples[i] *= 30;
    const SteadyState state = FindSteadyState(samples);
    EXPECT_EQ(state.start, 0U) << "seed " << seed;
    EXPECT_TRUE(state.steady) << "seed " << seed;
  }
}

TEST(SteadyState, OutliersDoNotHideASlowStart) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> samples = Noise(200, seed);
    for (size_t i = 0; i < 40; ++i) samples[i] *= 1.3;
    for (const size_t i : {90U, 150U, 170U}) samples[i] *= 1000;
    EXPECT_NEAR(static_cast<double>(FindSteadyState(samples).start), 40, 1) << "seed " << seed;
  }
}

TEST(SteadyState, DriftIsNotSteady) {
  for (const double whole : {0.05, 0.3}) {
    std::vector<double> samples = Noise(1000, 11, 0.01);
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] *= 1 + whole * static_cast<double>(i) / static_cast<double>(samples.size());
    }
    const SteadyState state = FindSteadyState(samples);
    EXPECT_FALSE(state.steady) << whole;
    EXPECT_LE(state.start, samples.size() / 2);
  }
}

TEST(SteadyState, AStepInTheSecondHalfIsNotSteady) {
  std::vector<double> samples = Noise(200, 13);
  for (size_t i = 140; i < samples.size(); ++i) samples[i] *= 1.4;
  const SteadyState state = FindSteadyState(samples);
  EXPECT_FALSE(state.steady);
  EXPECT_LE(state.start, 100U);
}

TEST(SteadyState, ABurstAtTheVeryEndIsADisturbanceNotALevel) {
  std::vector<double> samples = Noise(200, 17);
  for (size_t i = 190; i < samples.size(); ++i) samples[i] *= 2;
  EXPECT_TRUE(FindSteadyState(samples).steady);
}

TEST(SteadyState, AChangeBelowOnePercentIsLeftAlone) {
  std::vector<double> samples = Noise(2000, 19, 0.001);
  for (size_t i = 0; i < 500; ++i) samples[i] *= 1.005;
  const SteadyState state = FindSteadyState(samples);
  EXPECT_LT(state.p_value, 1e-6);  // it is seen
  EXPECT_EQ(state.start, 0U);
  EXPECT_TRUE(state.steady);
}

TEST(SteadyState, SmallSamplesAreNotJudged) {
  EXPECT_FALSE(FindSteadyState(Noise(kSteadyStateSamples - 1, 1)).decided);
  EXPECT_FALSE(FindSteadyState({}).decided);
}

TEST(SteadyState, EqualSamplesAreSteady) {
  const SteadyState state = FindSteadyState(std::vector<double>(100, 0.25));
  EXPECT_TRUE(state.decided);
  EXPECT_TRUE(state.steady);
  EXPECT_EQ(state.start, 0U);
  EXPECT_TRUE(FindSteadyState(std::vector<double>(100, 0.0)).steady);
}

}  // namespace
}  // namespace inferprobe::analyze
