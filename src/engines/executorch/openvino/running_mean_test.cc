// The running mean undone, against an engine that keeps it as OpenVINO's CPU plugin does.
#include "engines/executorch/openvino/running_mean.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace inferprobe::openvino {
namespace {

// Sums of whole microseconds, and the mean of them, rounded down.
class MeanKeeper {
 public:
  explicit MeanKeeper(size_t layers) : totals_(layers), infos_(layers) {
    for (size_t i = 0; i < layers; ++i) names_.push_back("layer " + std::to_string(i));
    for (size_t i = 0; i < layers; ++i) infos_[i].node_name = names_[i].c_str();
  }
  void Call(const std::vector<int64_t>& us) {
    ++calls_;
    for (size_t i = 0; i < us.size(); ++i) {
      totals_[i] += us[i];
      infos_[i].real_time = totals_[i] / static_cast<int64_t>(calls_);
    }
  }
  [[nodiscard]] uint64_t calls() const { return calls_; }
  [[nodiscard]] int64_t total(size_t layer) const { return totals_[layer]; }
  [[nodiscard]] std::span<const ProfilingInfo> infos() const { return infos_; }

 private:
  uint64_t calls_ = 0;
  std::vector<int64_t> totals_;
  std::vector<std::string> names_;
  std::vector<ProfilingInfo> infos_;
};

TEST(RunningMean, ConstantTimesComeBackExactly) {
  MeanKeeper engine(2);
  RunningMean mean;
  for (int call = 1; call <= 1000; ++call) {
    engine.Call({7, 0});
    const auto times = mean.Read(engine.calls(), engine.infos());
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times[0], 7000);
    EXPECT_EQ(times[1], 0);
    EXPECT_EQ(mean.covered(), 1U);
  }
}

// Many short sequences of calls, with calls that nobody read, times from none to long, and jumps.
TEST(RunningMean, ValuesAreNeverNegativeTelescopeAndAreWithinTheError) {
  std::minstd_rand random(20261130);
  for (int round = 0; round < 300; ++round) {
    const size_t layers = 1 + random() % 5;
    MeanKeeper engine(layers);
    RunningMean mean;
    std::vector<int64_t> sums(layers);
    std::vector<int64_t> since(layers);
    const auto longest = int64_t{1} << (random() % 14);
    const uint64_t calls = 1 + random() % 400;
    for (uint64_t call = 1; call <= calls; ++call) {
      std::vector<int64_t> us(layers);
      for (int64_t& each : us)
        each = random() % 20 == 0 ? 50 * longest : static_cast<int64_t>(random()) % longest;
      engine.Call(us);
      for (size_t i = 0; i < layers; ++i) since[i] += 1000 * us[i];
      if (random() % 3 == 0) continue;  // not read
      const auto times = mean.Read(engine.calls(), engine.infos());
      ASSERT_EQ(times.size(), layers);
      const int64_t error = RunningMean::ErrorNs(call, mean.covered());
      for (size_t i = 0; i < layers; ++i) {
        EXPECT_GE(times[i], 0);
        EXPECT_LE(std::abs(times[i] - since[i]), error) << "call " << call;
        sums[i] += times[i];
        // The sum of all values is as near as one value is.
        EXPECT_LE(sums[i], 1000 * engine.total(i));
        EXPECT_GE(sums[i], 1000 * engine.total(i) - RunningMean::ErrorNs(call));
      }
      since.assign(layers, 0);
    }
    EXPECT_EQ(mean.restarts(), 0U);
  }
}

TEST(RunningMean, CoversCallsThatWereNotRead) {
  MeanKeeper engine(1);
  RunningMean mean;
  for (int call = 0; call < 3; ++call) engine.Call({10});
  EXPECT_EQ(mean.Read(3, engine.infos())[0], 30'000);
  EXPECT_EQ(mean.covered(), 3U) << "the calls before the first reading, too";
  EXPECT_TRUE(mean.Read(3, engine.infos()).empty()) << "no call in between";
  EXPECT_EQ(mean.covered(), 0U);
  for (int call = 0; call < 4; ++call) engine.Call({10});
  EXPECT_EQ(mean.Read(7, engine.infos())[0], 40'000);
  EXPECT_EQ(mean.covered(), 4U);
}

TEST(RunningMean, AnotherListStartsAnewAndIsCounted) {
  MeanKeeper two(2);
  MeanKeeper three(3);
  RunningMean mean;
  two.Call({10, 10});
  three.Call({4, 4, 4});
  ASSERT_EQ(mean.Read(1, two.infos()).size(), 2U);
  EXPECT_TRUE(mean.Read(2, three.infos()).empty()) << "over how many calls is not known";
  EXPECT_EQ(mean.restarts(), 1U);
  EXPECT_EQ(mean.Read(3, three.infos()).size(), 3U);

  // The same number of layers, but others.
  std::vector<ProfilingInfo> renamed(three.infos().begin(), three.infos().end());
  renamed[1].node_name = "another";
  EXPECT_TRUE(mean.Read(4, renamed).empty());
  EXPECT_EQ(mean.restarts(), 2U);
  renamed[1].node_name = nullptr;
  EXPECT_TRUE(mean.Read(5, renamed).empty());
  EXPECT_EQ(mean.Read(6, renamed).size(), 3U);
  EXPECT_TRUE(mean.Read(2, renamed).empty()) << "a count that went back";
  EXPECT_EQ(mean.restarts(), 4U);
}

TEST(RunningMean, WhatNoEngineSaysStaysInRange) {
  std::vector<ProfilingInfo> layers(2);
  layers[0].real_time = -5;
  layers[1].real_time = std::numeric_limits<int64_t>::max();
  RunningMean mean;
  const auto times = mean.Read(std::numeric_limits<uint64_t>::max() - 1, layers);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0], 0);
  EXPECT_EQ(times[1], std::numeric_limits<int64_t>::max());
  EXPECT_GT(RunningMean::ErrorNs(std::numeric_limits<uint64_t>::max(), 2), 0);
}

TEST(RunningMean, TheErrorGrowsWithTheCalls) {
  EXPECT_EQ(RunningMean::ErrorNs(1), 1000);
  EXPECT_EQ(RunningMean::ErrorNs(1000), 1'000'000);
  EXPECT_EQ(RunningMean::ErrorNs(1000, 4), 1'003'000);
}

}  // namespace
}  // namespace inferprobe::openvino
