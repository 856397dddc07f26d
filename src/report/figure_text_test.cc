#include "report/figure_text.h"

#include <gtest/gtest.h>

namespace inferprobe::report {
namespace {

using profile::Interval;
using profile::Status;

TEST(FigureText, MissingFiguresSayWhy) {
  EXPECT_EQ(MissingText(Status::kBelowResolution), "n/a (below resolution)");
  EXPECT_EQ(MissingText(profile::Missing{Status::kUnsupported, "no\ncpufreq"}),
            "n/a (unsupported: no\\ncpufreq)");
}

TEST(FigureText, ABlockHasOneUnit) {
  const TimeUnit unit(195'123);
  EXPECT_EQ(unit.Text(195'123), "0.1951 ms");
  EXPECT_EQ(unit.Text(1'500'000), "1.5000 ms");
  EXPECT_EQ(TimeUnit(2'345'678).Text(2'345'678), "2.346 ms");
  EXPECT_EQ(TimeUnit(12'345).Text(12'345), "12.35 us");
  EXPECT_EQ(TimeUnit(45).Text(45), "45.00 ns");
  EXPECT_EQ(TimeUnit(123e9).Text(123e9), "123.0 s");
  EXPECT_EQ(TimeUnit(0).Text(0), "0.000 ns");
}

TEST(FigureText, AnOpenIntervalHasNoUpperBound) {
  const TimeUnit unit(1e6);
  EXPECT_EQ(IntervalText(Interval{1, 1.25, false}, unit), "[1.000, 1.250]");
  EXPECT_EQ(IntervalText(Interval{1, 1.25, true}, unit), "[1.000, …)");
  EXPECT_EQ(IntervalText({Status::kTooFewSamples, "needs 5"}, unit), "n/a (too few samples)");
}

TEST(FigureText, HistogramShowsTheLonelyOutlier) {
  std::vector<double> samples(100, 1.0);
  samples.push_back(2.0);
  EXPECT_EQ(Histogram({samples}, 4).text, "█  ▁");
  EXPECT_EQ(Histogram({{1.0, 1.0}}, 4).text, "");
  EXPECT_EQ(Histogram({}, 4).text, "");
}

TEST(FigureText, OneHugeOutlierDoesNotSqueezeTheHistogram) {
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(1 + i % 4);
  samples.insert(samples.end(), {900.0, 1000.0});
  const Bars bars = Histogram({samples}, 4);
  EXPECT_EQ(bars.text, "████");
  EXPECT_EQ(bars.high, 4);
  EXPECT_EQ(bars.beyond, 2U);
  EXPECT_EQ(bars.max, 1000);
}

TEST(FigureText, ChangesHaveASign) {
  EXPECT_EQ(ChangeText(1.031), "+3.1 %");
  EXPECT_EQ(ChangeText(0.99), "-1.0 %");
  EXPECT_EQ(ChangeText(0.9999), "+0.0 %");
}

}  // namespace
}  // namespace inferprobe::report
