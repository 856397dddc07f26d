#include "profile/clock_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "profile/model.h"

namespace inferprobe::profile {
namespace {

constexpr int64_t kUnix = 1'790'000'000'000'000'000;

TEST(ClockFit, OnePairHasRateOneAndItsOwnError) {
  const ClockPair pair{1000, 1100, kUnix};
  const auto fit = ClockFit::Through({&pair, 1});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->ToNs(kUnix), 1050);
  EXPECT_EQ(fit->ToNs(kUnix + 7'000'000'000), 7'000'001'050);
  EXPECT_DOUBLE_EQ(fit->error_ns(), 50.5);  // half its width, and rounding
}

TEST(ClockFit, AWidePairMovesNothing) {
  std::vector<ClockPair> pairs;
  for (int64_t at = 0; at < 5; ++at) pairs.push_back({at * 100, at * 100 + 20, kUnix + at * 100});
  for (int64_t at = 5; at < 10; ++at) {
    pairs.push_back({at * 1'000'000, at * 1'000'000 + 20, kUnix + at * 1'000'000});
  }
  const auto without = ClockFit::Through(pairs);
  pairs.insert(pairs.begin(), {-900'000, 40'000, kUnix - 5});
  pairs.push_back({9'000'500, 99'000'000, kUnix + 9'000'600});
  const auto with = ClockFit::Through(pairs);
  ASSERT_TRUE(without);
  ASSERT_TRUE(with);
  for (const int64_t at : {0, 400, 5'000'000, 9'000'000}) {
    EXPECT_NEAR(static_cast<double>(with->ToNs(kUnix + at)),
                static_cast<double>(without->ToNs(kUnix + at)), 1)
        << at;
  }
  EXPECT_LT(without->error_ns(), 22);
  EXPECT_LT(with->error_ns(), 22);
}

// A kernel on a device ran as long as the device says, also long after the last pair.
TEST(ClockFit, DurationsStayWhereNoDriftIsSeen) {
  std::mt19937_64 random(7);
  std::vector<ClockPair> pairs;
  for (int64_t at = 0; at < 20; ++at) {
    const int64_t other = at < 10 ? at * 1000 : 1'000'000 + at * 1000;
    const auto before = static_cast<int64_t>(random() % 300);
    pairs.push_back({other - before, other + 300 - before, kUnix + other});
  }
  const auto fit = ClockFit::Through(pairs);
  ASSERT_TRUE(fit);
  for (const int64_t start : {int64_t{0}, int64_t{500'123}, int64_t{6'000'000'001}}) {
    for (const int64_t took : {1, 1000, 123'456'789}) {
      EXPECT_EQ(fit->ToNs(kUnix + start + took) - fit->ToNs(kUnix + start), took) << start;
    }
  }
}

TEST(ClockFit, ADriftThatIsSeenIsKept) {
  std::vector<ClockPair> pairs;
  for (int64_t at = 0; at < 20; ++at) {
    const int64_t ns = at * 50'000'000;
    pairs.push_back({ns - 50, ns + 50, kUnix + ns - ns / 10'000});
  }
  const auto fit = ClockFit::Through(pairs);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(fit->ToNs(kUnix + 1'000'000'000) - fit->ToNs(kUnix)),
              1'000'100'010, 200);
}

struct RefusedCase {
  std::string name;
  std::vector<ClockPair> pairs;
};

TEST(ClockFit, WhatNoLineAllowsIsRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const RefusedCase cases[] = {
      {"no pair", {}},
      {"ends before it starts", {{100, 99, kUnix}}},
      {"two times at once", {{0, 10, kUnix}, {100, 110, kUnix}}},
      {"a step", {{0, 10, kUnix}, {1000, 1010, kUnix + 1000}, {2500, 2510, kUnix + 2000}}},
      {"backwards", {{0, 10, kUnix}, {1000, 1010, kUnix - 1000}}},
      {"twice as fast", {{0, 10, 0}, {1'000'000, 1'000'010, 500'000}}},
      {"beyond all time", {{0, kMost, kUnix}}},
      {"below all time", {{0, 10, std::numeric_limits<int64_t>::min()}}},
  };
  for (const RefusedCase& one : cases) EXPECT_FALSE(ClockFit::Through(one.pairs)) << one.name;
}

TEST(ClockFit, EqualTimesAreOnePlace) {
  const ClockPair pairs[] = {{1000, 1100, kUnix}, {1050, 1150, kUnix}};
  const auto fit = ClockFit::Through(pairs);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->ToNs(kUnix), 1075);
  EXPECT_EQ(fit->ToNs(kUnix + 1000), 2075);
  EXPECT_DOUBLE_EQ(fit->error_ns(), 25.5);
}

TEST(ClockFit, IsMonotoneOverAllTimes) {
  const ClockPair slow[] = {{0, 0, kUnix}, {950'000, 950'000, kUnix + 1'000'000}};
  const auto fit = ClockFit::Through(slow);
  ASSERT_TRUE(fit);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const int64_t from : {kLeast, -kUnix, int64_t{0}, kUnix, kMost - 2000}) {
    int64_t last = fit->ToNs(from);
    for (int64_t step = 1; step < 2000; ++step) {
      const int64_t next = fit->ToNs(from + step);
      ASSERT_GE(next, last) << from << " + " << step;
      last = next;
    }
  }
}

// The truth is inside the error that the fit says, whatever the drift, the widths and where in its
// pair an event was.
TEST(ClockFit, ItsErrorIsHonest) {
  std::mt19937_64 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const double drift = static_cast<double>(between(-500, 500)) * 1e-6;
    const int64_t offset = between(-1'000'000'000, 1'000'000'000);
    const int64_t length = int64_t{1} << between(10, 42);
    const auto truth = [&](int64_t other) {
      return static_cast<double>(other - kUnix) * (1 + drift) + static_cast<double>(offset);
    };
    std::vector<ClockPair> pairs;
    const int64_t each = between(1, 20);
    for (int64_t i = 0; i < 2 * each; ++i) {
      const int64_t other = kUnix + (i < each ? i * 50 : length + i * 50);
      const int64_t width = between(0, 9) == 0 ? between(1000, 100'000) : between(1, 1000);
      const auto ns = static_cast<int64_t>(std::llround(truth(other)));
      const int64_t before = ns - between(0, width);
      pairs.push_back({before, std::max(ns, before + width), other});
    }
    const auto fit = ClockFit::Through(pairs);
    ASSERT_TRUE(fit) << round;
    for (int i = 0; i < 50; ++i) {
      const int64_t other = between(pairs.front().other_ns, pairs.back().other_ns);
      EXPECT_LE(std::abs(static_cast<double>(fit->ToNs(other)) - truth(other)), fit->error_ns() + 1)
          << round;
    }
    if (each == 20) {  // and says no more than it must
      EXPECT_LT(fit->error_ns(), 2000) << round;
    }
  }
}

}  // namespace
}  // namespace inferprobe::profile
