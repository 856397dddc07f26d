#include "profile/loss.h"

#include <gtest/gtest.h>

namespace inferprobe::profile {
namespace {

TEST(LossCounts, AddUp) {
  LossCounts a;
  a.Add(Loss::kRingDropped);
  a.Add(Loss::kRingDropped, 4);
  LossCounts b;
  b.Add(Loss::kRingDropped, 10);
  b.Add(Loss::kWorkerDied);
  a.Merge(b);
  EXPECT_EQ(a.Get(Loss::kRingDropped), 15U);
  EXPECT_EQ(a.Get(Loss::kWorkerDied), 1U);
}

// Wrapped round, a file that claims the largest count would hide its losses.
TEST(LossCounts, NeverWrapRound) {
  LossCounts counts;
  counts.Add(Loss::kRingDropped, UINT64_MAX);
  counts.Add(Loss::kRingDropped);
  EXPECT_EQ(counts.Get(Loss::kRingDropped), LossCounts::kMost);
  LossCounts merged = counts;
  merged.Merge(counts);
  EXPECT_EQ(merged.Get(Loss::kRingDropped), LossCounts::kMost);
  EXPECT_TRUE(merged.AnyDataLoss());
}

}  // namespace
}  // namespace inferprobe::profile
