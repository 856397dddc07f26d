// What is not claimed: of threads that are hidden, of what was lost, of damaged facts.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "analyze/region_rows.h"
#include "analyze/regions_test_support.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Metric;
using profile::PerfResult;
using profile::Region;
using profile::RegionRow;
using profile::RunMode;
using profile::Status;

// What found no place is in no sum: the rows stay, and nothing is added up.
TEST(Regions, NoSumsWhereRegionsWereLost) {
  SyntheticProfile made;
  AddRun(made);
  made.profile.losses.Add(profile::Loss::kRegionsDropped, 7);
  const auto report = Analyze(made, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->dropped, 7U);
  EXPECT_FALSE(report->rows.empty());
  for (const Metric<double>* figure :
       {&report->wall_ns, &report->busy_ns, &report->efficiency, &report->idle_core_ns,
        &report->run_efficiency, &report->serial_ns, &report->serial_share}) {
    ASSERT_FALSE(*figure);
    EXPECT_EQ(figure->missing().status, Status::kOverflow);
  }
  EXPECT_EQ(report->per_inference.missing().hint, "7 regions found no place in the collector");
  ASSERT_FALSE(report->operators.empty());
  for (const auto& each : report->operators) EXPECT_FALSE(each.efficiency);
}

TEST(Regions, IncompleteAndOtherRunsAreLeftOut) {
  SyntheticProfile made;
  AddRun(made);
  AddRun(made);
  made.profile.runs.back().incomplete = true;
  AddRun(made);
  made.profile.runs.back().mode = RunMode::kSettleOn;
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->runs, 1U);
  EXPECT_EQ(RowOf(*report, "2d_tile_2d").calls, 1U);
  made.profile.runs.front().incomplete = true;
  const auto none = Analyze(made);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.missing().status, Status::kUnavailable);
}

TEST(Regions, NothingRecordedIsNotZero) {
  SyntheticProfile made;
  made.BeginRun();
  made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 1'000, 1);
  made.EndRun();
  EXPECT_EQ(Analyze(made).missing().status, Status::kNotRequested);
  const auto asked = Analyze(made, {.detail = "busy"});
  ASSERT_TRUE(asked);
  EXPECT_EQ(*asked->per_inference, 0);
  EXPECT_EQ(asked->efficiency.missing().status, Status::kUnavailable);
  EXPECT_EQ(*asked->serial_share, 1);
}

TEST(Regions, AboutADelegateThatHidesItsThreadsNothingIsClaimed) {
  SyntheticProfile made;
  made.BeginRun();
  made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 60'000, 3);
  made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
  made.Region("parallel_for", 40'000, Asked(2, 2),
              {{.tid = 1, .busy_ns = 40'000}, {.tid = 2, .busy_ns = 30'000}}, 1);
  made.Leave();
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->not_observable.size(), 1U);
  EXPECT_EQ(report->not_observable[0].what, "OpenvinoBackend");
  EXPECT_EQ(report->not_observable[0].wall_ns, 60'000);
  const profile::RegionOperator& hidden = report->operators.at(0);
  for (const Metric<double>* figure :
       {&hidden.efficiency, &hidden.serial_ns, &hidden.idle_core_ns}) {
    ASSERT_FALSE(*figure);
    EXPECT_EQ(figure->missing().status, Status::kUnsupported);
  }
  EXPECT_EQ(*report->observable_ns, 40'000);
  EXPECT_EQ(*report->serial_ns, 10'000);
  EXPECT_DOUBLE_EQ(*report->serial_share, 0.1);
  EXPECT_DOUBLE_EQ(*report->run_efficiency, 70.0 / 80);
}

// A recording of a program of one's own: no backend has a name there.
TEST(Regions, ACallOfUnknownBackendIsObservableWhereItsLoopsWereSeen) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Region("2d_tile_2d", 40'000, Asked(2, 2),
              {{.tid = 1, .busy_ns = 40'000}, {.tid = 2, .busy_ns = 30'000}}, 0);
  made.Wait(10'000);
  made.Leave();
  made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 60'000, 3);
  made.EndRun();
  PerfResult result;
  OperatorTable table = BuildOperators(made.profile, result.model, {});
  result.ops = std::move(table.ops);
  result.delegates = std::move(table.delegates);
  const auto report = AnalyzeRegions(made.profile, result, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->operators.size(), 2U);
  ASSERT_TRUE(report->operators[0].efficiency);
  EXPECT_DOUBLE_EQ(*report->operators[0].efficiency, 80.0 / 100);
  EXPECT_EQ(*report->operators[0].serial_ns, 20'000);
  EXPECT_EQ(report->operators[1].efficiency.missing().status, Status::kUnsupported);
  ASSERT_EQ(report->not_observable.size(), 1U);
  EXPECT_EQ(report->not_observable[0].wall_ns, 60'000);
  EXPECT_EQ(*report->observable_ns, 50'000);
  EXPECT_EQ(*report->serial_ns, 20'000);
}

TEST(Regions, WhoIsObservable) {
  EXPECT_EQ(WhyNotObservable("XnnpackBackend"), "");
  EXPECT_NE(WhyNotObservable("OpenvinoBackend").find("oneTBB"), std::string::npos);
  EXPECT_NE(WhyNotObservable("CoreMLBackend"), "");
  EXPECT_NE(WhyNotObservable(""), "");
}

TEST(Regions, ParticipantsThatFoundNoPlaceMakeBusyUnknown) {
  SyntheticProfile made;
  made.BeginRun();
  Region facts = Asked(200, 200);
  facts.participants_dropped = 72;
  made.Region("wide", 1'000, facts, {{.tid = 1, .busy_ns = 1'000}});
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->rows.at(0).busy_ns);
  EXPECT_EQ(report->rows.at(0).busy_ns.missing().status, Status::kOverflow);
  EXPECT_EQ(report->rows[0].idle_core_ns.missing().status, Status::kOverflow);
}

TEST(Regions, InADelegateThatHidesItsThreadsNoneIsOfTheObservablePart) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 3);  // OpenVINO's
  made.Region("inside", 50'000, Asked(2, 2),
              {{.tid = 1, .busy_ns = 50'000}, {.tid = 2, .busy_ns = 50'000}}, 3);
  made.Leave();
  made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 50'000, 1);
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->observable_ns, 50'000);
  EXPECT_EQ(*report->serial_ns, 50'000);
  EXPECT_EQ(*report->run_efficiency, 0.5);
  EXPECT_EQ(*report->efficiency, 1);  // of what was seen
}

TEST(Regions, HostileFactsGiveFiguresThatAFileMayHold) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  for (int round = 0; round < 200; ++round) {
    SyntheticProfile made;
    for (int run = 0; run < 2; ++run) AddRun(made);
    const auto any = [&]() -> int64_t {
      const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX};
      const uint64_t drawn = random();
      return drawn % 3 == 0 ? edges[random() % 6] : static_cast<int64_t>(drawn);
    };
    for (size_t i = 0; i < made.profile.slices.size(); ++i) {
      profile::Slice& slice = made.profile.slices[i];
      if (random() % 3 == 0) slice.start_ns = any();
      if (random() % 3 == 0) slice.dur_ns = any();
      // No reader gives a slice a parent behind it.
      if (i > 0 && random() % 8 == 0) slice.parent = static_cast<uint32_t>(random() % i);
    }
    for (profile::SliceArgs& args : made.profile.args) {
      if (random() % 8 == 0) args.region = static_cast<uint32_t>(any()) % 8;
      if (random() % 8 == 0) args.region_part = static_cast<uint32_t>(any()) % 8;
      if (random() % 8 == 0) args.instruction = static_cast<int32_t>(any());
    }
    for (Region& facts : made.profile.regions) {
      facts.requested = static_cast<int32_t>(any());
      facts.admitted = static_cast<int32_t>(any());
      facts.iterations = any();
      facts.parent = random() % 8;
      facts.nested_inline = random() % 2 == 0;
      facts.file = random() % 2 == 0 ? static_cast<uint32_t>(any()) : 0;
    }
    for (profile::RegionPart& part : made.profile.region_parts) {
      part.region = static_cast<uint32_t>(any()) % 8;
    }
    const PerfResult rows = Rows(made);
    const auto report = AnalyzeRegions(made.profile, rows, {});
    ASSERT_TRUE(report);
    const auto check = [](const Metric<double>& figure) {
      if (figure) {
        EXPECT_LE(std::abs(*figure), profile::kLargestFigure);
        EXPECT_GE(*figure, 0);
      }
    };
    for (const RegionRow& row : report->rows) {
      for (const auto* figure : {&row.wall_ns, &row.idle_core_ns, &row.serial_ns,
                                 &row.busy_utilization, &row.imbalance, &row.observed}) {
        check(*figure);
      }
      EXPECT_TRUE(!row.op || *row.op < rows.ops.size());
    }
    for (const auto* figure : {&report->efficiency, &report->run_efficiency, &report->serial_ns,
                               &report->idle_core_ns, &report->serial_share}) {
      check(*figure);
    }
  }
}

TEST(Regions, WhatNoFileMayHoldIsNoFigure) {
  EXPECT_EQ(*Bounded(1e30), 1e30);
  for (const double value : {1.1e30, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    ASSERT_FALSE(Bounded(value));
    EXPECT_EQ(Bounded(value).missing().status, Status::kOverflow);
  }
}

}  // namespace
}  // namespace inferprobe::analyze
