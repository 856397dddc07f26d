#include "analyze/paired_ratio.h"

#include <gtest/gtest.h>

#include <array>

namespace inferprobe::analyze {
namespace {

// By hand: logs of 2, 0.5, 2 are l, -l, l with l = ln 2; mean l/3, standard deviation 2l/sqrt(3),
// standard error 2l/3. Quantiles of t with 2 degrees of freedom (a table): 0.975: 4.302653,
// 0.995: 9.924843.
TEST(PairedRatio, GeometricMeanAndItsInterval) {
  const std::array base = {10.0, 10.0, 1.0};
  const std::array other = {20.0, 5.0, 2.0};
  const PairedRatio at95 = RatioOfPairs(base, other, 0.95);
  ASSERT_TRUE(at95.ratio && at95.interval);
  EXPECT_NEAR(*at95.ratio, 1.259921, 1e-6);          // 2^(1/3)
  EXPECT_NEAR(at95.interval->low, 0.172527, 1e-6);   // 2^((1 - 2 * 4.302653) / 3)
  EXPECT_NEAR(at95.interval->high, 9.200860, 1e-5);  // 2^((1 + 2 * 4.302653) / 3)
  const PairedRatio at99 = RatioOfPairs(base, other, 0.99);
  EXPECT_NEAR(at99.interval->low, 0.012840, 1e-6);
}

TEST(PairedRatio, EqualPairsHaveAnIntervalWithoutWidth) {
  const std::array base = {1.0, 2.0, 4.0};
  const std::array other = {3.0, 6.0, 12.0};
  const PairedRatio pairs = RatioOfPairs(base, other, 0.95);
  EXPECT_NEAR(*pairs.ratio, 3, 1e-12);
  EXPECT_NEAR(pairs.interval->low, 3, 1e-12);
  EXPECT_NEAR(pairs.interval->high, 3, 1e-12);
}

TEST(PairedRatio, TooFewPairs) {
  const std::array one = {1.0};
  EXPECT_TRUE(RatioOfPairs(one, one, 0.95).ratio);
  EXPECT_EQ(RatioOfPairs(one, one, 0.95).interval.missing().status,
            profile::Status::kTooFewSamples);
  EXPECT_EQ(RatioOfPairs({}, {}, 0.95).ratio.missing().status, profile::Status::kNotMeasured);
}

}  // namespace
}  // namespace inferprobe::analyze
