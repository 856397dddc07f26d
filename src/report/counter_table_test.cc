#include "report/counter_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace inferprobe::report {
namespace {

using profile::Profile;

uint16_t AddCounter(Profile& profile, std::string name, std::string unit, int64_t pid = 0) {
  profile::Track track;
  track.name = std::move(name);
  track.type = profile::TrackType::kCounter;
  track.unit = std::move(unit);
  track.pid = pid;
  profile.tracks.push_back(std::move(track));
  return static_cast<uint16_t>(profile.tracks.size() - 1);
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CounterTable, ARowIsOfTheSamplesOfOneTrack) {
  Profile profile;
  const uint16_t heat = AddCounter(profile, "temperature", "degC", 42);
  AddCounter(profile, "without samples", "W");
  const uint16_t bytes = AddCounter(profile, "heap", "B");
  profile.counters = {{3'000, 41.5, heat}, {2'000, 12'345'678, bytes}, {1'000, 40, heat}};
  EXPECT_EQ(
      CounterTable(profile, false),
      "\ncounters (mean of the samples; times since the first one)\n"
      "  samples         min        mean         max  unit    first     last  process  what\n"
      "        2          40       40.75        41.5  degC     0 ns  2.00 us       42  "
      "temperature\n"
      "        1  12,345,678  12,345,678  12,345,678  B     1.00 us  1.00 us        -  heap\n");
}

TEST(CounterTable, WithoutCountersThereIsNone) {
  Profile profile;
  AddCounter(profile, "without samples", "");
  EXPECT_EQ(CounterTable(profile, true), "");
}

TEST(CounterTable, ManyAreFolded) {
  Profile profile;
  for (int i = 0; i < 23; ++i) {
    profile.counters.push_back({i, 1, AddCounter(profile, fmt::format("counter {}.", i), "")});
  }
  const std::string folded = CounterTable(profile, false);
  EXPECT_TRUE(Has(folded, "counter 19."));
  EXPECT_FALSE(Has(folded, "counter 20."));
  EXPECT_TRUE(folded.ends_with("  … and 3 more counters: --all\n")) << folded;
  const std::string all = CounterTable(profile, true);
  EXPECT_TRUE(Has(all, "counter 22."));
  EXPECT_FALSE(Has(all, "--all"));
}

TEST(CounterTable, ValuesThatAreNoNumbersGiveNoMean) {
  Profile profile;
  const uint16_t track = AddCounter(profile, "\x1b[2J", "\n");
  profile.counters = {{std::numeric_limits<int64_t>::min(), 1, track},
                      {0, std::numeric_limits<double>::quiet_NaN(), track},
                      {std::numeric_limits<int64_t>::max(), 3, track}};
  const std::string text = CounterTable(profile, false);
  EXPECT_TRUE(Has(text, "n/a")) << text;
  EXPECT_FALSE(Has(text, "nan")) << text;
  EXPECT_FALSE(Has(text, "\x1b")) << text;
}

}  // namespace
}  // namespace inferprobe::report
