#include "analyze/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "analyze/busy_time.h"
#include "analyze/operators.h"
#include "analyze/region_rows.h"
#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Metric;
using profile::PerfResult;
using profile::Region;
using profile::RegionReport;
using profile::RegionRow;
using profile::RunMode;
using profile::Status;

Region Asked(int32_t requested, int32_t admitted) {
  Region facts;
  facts.iterations = 100;
  facts.grain = 10;
  facts.requested = requested;
  facts.admitted = admitted;
  return facts;
}

PerfResult Rows(const SyntheticProfile& made) {
  PerfResult result;
  result.model.method = "forward";
  result.model.delegates = {{.id = 0, .backend = "XnnpackBackend", .engine_id = ""},
                            {.id = 1, .backend = "OpenvinoBackend", .engine_id = ""}};
  result.model.instruction_names = {"", "aten::mm.out", "aten::addmm.out", ""};
  result.model.instruction_delegates = {0, -1, -1, 1};
  OperatorTable table = BuildOperators(made.profile, result.model, {});
  result.ops = std::move(table.ops);
  result.delegates = std::move(table.delegates);
  result.profiled_runs = table.runs;
  return result;
}

Metric<RegionReport> Analyze(const SyntheticProfile& made, const RegionOptions& options = {}) {
  return AnalyzeRegions(made.profile, Rows(made), options);
}

// A run of 100 us: a delegate of 40 us with a region of 20, an operator of 30 us that asks for no
// threads, one of 10 us whose loop runs on one thread, and 20 us between them.
void AddRun(SyntheticProfile& made, int64_t second_busy_ns = 15'000) {
  made.BeginRun();
  made.Enter(Category::kMethod, "Method::execute");
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Wait(10'000);
  made.Region("2d_tile_2d", 20'000, Asked(2, 2),
              {{.tid = 1, .start_ns = 1'000, .busy_ns = 18'000},
               {.tid = 2, .start_ns = 2'000, .busy_ns = second_busy_ns}},
              0);
  made.Wait(10'000);
  made.Leave();
  made.Wait(20'000);
  made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 30'000, 2);
  made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
  made.Wait(1'000);
  made.Region("parallel_for", 8'000, Asked(2, 1), {{.tid = 1, .busy_ns = 8'000}}, 1);
  made.Wait(1'000);
  made.Leave();
  made.Leave();
  made.EndRun();
}

const RegionRow& RowOf(const RegionReport& report, std::string_view where) {
  for (const RegionRow& row : report.rows) {
    if (row.where == where) return row;
  }
  ADD_FAILURE() << "no row of " << where;
  static const RegionRow none;
  return none;
}

TEST(TwoBusy, ByHand) {
  using Intervals = std::vector<BusyInterval>;
  struct Case {
    Intervals intervals;
    double two_busy_ns;
  };
  for (const Case& item : {
           Case{{}, 0},
           Case{{{0, 10}}, 0},
           Case{{{0, 10}, {10, 20}}, 0},  // one ends where the next begins
           Case{{{0, 10}, {4, 20}}, 6},
           Case{{{4, 20}, {0, 10}}, 6},
           Case{{{0, 10}, {0, 10}, {0, 10}}, 10},  // three at once count once
           Case{{{0, 10}, {2, 4}, {6, 9}}, 5},
           Case{{{0, 10}, {8, 2}}, 0},  // one that ends before it begins
           // Thread 7 has several at once, and is one thread.
           Case{{{0, 10, 7}, {0, 10, 7}}, 0},
           Case{{{0, 10, 7}, {2, 4, 7}, {6, 14, 7}}, 0},
           Case{{{0, 10, 7}, {2, 12, 7}, {8, 20, 9}}, 4},
           Case{{{5, 6, 9}, {0, 3, 7}, {2, 10, 7}, {1, 4, 8}}, 4},
           Case{{{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MAX}}, 0x1p64},
       }) {
    EXPECT_EQ(TwoBusyNs(item.intervals), item.two_busy_ns);
  }
}

TEST(Regions, FiguresOfARowAreThoseComputedByHand) {
  SyntheticProfile made;
  AddRun(made);
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  const RegionRow& row = RowOf(*report, "2d_tile_2d");
  EXPECT_EQ(*row.op, Rows(made).delegates.at(0).op);
  EXPECT_EQ(row.index, 1U);
  EXPECT_EQ(row.calls, 1U);
  EXPECT_EQ(row.iterations, 100);
  EXPECT_EQ(row.grain, 10);
  EXPECT_EQ(row.requested, 2);
  EXPECT_EQ(row.admitted, 2);
  EXPECT_EQ(*row.observed, 2);
  EXPECT_EQ(*row.wall_ns, 20'000);
  EXPECT_EQ(*row.busy_ns, (std::vector<double>{18'000, 15'000}));
  EXPECT_EQ(*row.idle_core_ns, 7'000);                 // 2 x 20 - (18 + 15)
  EXPECT_EQ(*row.serial_ns, 5'000);                    // both are busy from 2 to 17
  EXPECT_DOUBLE_EQ(*row.busy_utilization, 33.0 / 40);  // 33 of 2 x 20
  EXPECT_DOUBLE_EQ(*row.imbalance, 18.0 / ((18 + 15) / 2.0));
  EXPECT_EQ(row.process_cpu_ns.missing().status, Status::kNotRequested);
  EXPECT_EQ(row.cpu_utilization.missing().status, Status::kNotRequested);
  EXPECT_EQ(row.worker_cpu_ns.missing().status, Status::kNotRequested);
  EXPECT_EQ(row.cycles.missing().status, Status::kNotRequested);
  EXPECT_EQ(row.p50_ns.missing().status, Status::kTooFewSamples);
}

TEST(Regions, OneThreadHasNoImbalanceAndIsAllSerial) {
  SyntheticProfile made;
  AddRun(made);
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  const RegionRow& row = RowOf(*report, "parallel_for");
  EXPECT_EQ(*row.serial_ns, 8'000);
  EXPECT_EQ(*row.idle_core_ns, 8'000);
  EXPECT_EQ(*row.busy_utilization, 1);
  EXPECT_EQ(row.imbalance.missing().status, Status::kUnavailable);
}

TEST(Regions, FiguresOfOperatorsAreThoseComputedByHand) {
  SyntheticProfile made;
  AddRun(made);
  AddRun(made);
  const PerfResult rows = Rows(made);
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->operators.size(), 3U);
  const profile::RegionOperator& delegate = report->operators[0];
  EXPECT_EQ(rows.ops[delegate.op].name, "XnnpackBackend #0");
  EXPECT_EQ(delegate.regions_per_run, 1);
  EXPECT_EQ(*delegate.wall_ns, 40'000);
  EXPECT_EQ(delegate.in_regions_ns, 20'000);
  EXPECT_DOUBLE_EQ(*delegate.efficiency, 53.0 / 80);  // 33 busy in regions, 20 alone, of 2 x 40
  EXPECT_EQ(*delegate.serial_ns, 25'000);             // two are busy for 15 of 40
  EXPECT_EQ(*delegate.idle_core_ns, 27'000);          // 80 - 53

  const profile::RegionOperator& alone = report->operators[1];
  EXPECT_EQ(rows.ops[alone.op].name, "aten::addmm.out");
  EXPECT_EQ(alone.regions_per_run, 0);
  EXPECT_EQ(alone.requested, 2);
  EXPECT_DOUBLE_EQ(*alone.efficiency, 0.5);
  EXPECT_EQ(*alone.serial_ns, 30'000);
  EXPECT_EQ(*alone.idle_core_ns, 30'000);
}

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

TEST(Regions, FiguresOfTheRunAreThoseComputedByHand) {
  SyntheticProfile made;
  AddRun(made);
  AddRun(made);
  const auto report = Analyze(made, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->detail, "busy");
  EXPECT_EQ(*report->threads, 2);
  EXPECT_EQ(report->runs, 2U);
  EXPECT_EQ(*report->per_inference, 2);
  EXPECT_EQ(report->dropped, 0U);
  EXPECT_EQ(*report->wall_ns, 28'000);
  EXPECT_EQ(*report->busy_ns, 41'000);
  EXPECT_DOUBLE_EQ(*report->efficiency, 41.0 / 56);  // 2 x (20 + 8)
  EXPECT_EQ(*report->idle_core_ns, 15'000);
  EXPECT_EQ(*report->observable_ns, 100'000);
  EXPECT_DOUBLE_EQ(*report->run_efficiency, 113.0 / 200);  // 41 in regions, 72 alone
  EXPECT_EQ(*report->serial_ns, 85'000);
  EXPECT_DOUBLE_EQ(*report->serial_share, 0.85);
  EXPECT_TRUE(report->not_observable.empty());
}

TEST(Regions, TheWorstIsFirst) {
  SyntheticProfile made;
  AddRun(made, 17'000);  // 5 us idle; the loop on one thread leaves 8
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rows.at(0).where, "parallel_for");
  EXPECT_EQ(report->rows.at(0).index, 2U);
  EXPECT_EQ(report->rows.at(1).where, "2d_tile_2d");
}

TEST(Regions, ARankThatIsNotAlwaysThereCountsWithZero) {
  SyntheticProfile made;
  made.BeginRun();
  made.Region("loop", 1'000, Asked(2, 2),
              {{.tid = 1, .busy_ns = 400}, {.tid = 2, .busy_ns = 1'000}});
  made.EndRun();
  made.BeginRun();
  made.Region("loop", 2'000, Asked(2, 2), {{.tid = 2, .busy_ns = 2'000}});
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->rows.size(), 1U);
  const RegionRow& row = report->rows[0];
  EXPECT_FALSE(row.op);
  EXPECT_EQ(*row.busy_ns, (std::vector<double>{1'500, 200}));
  EXPECT_EQ(*row.observed, 1.5);
  EXPECT_EQ(*row.wall_ns, 1'500);
  EXPECT_EQ(*row.p50_ns, 1'500);
  EXPECT_DOUBLE_EQ(*row.busy_utilization, 3'400.0 / 6'000);  // ratio of sums
  EXPECT_DOUBLE_EQ(*row.imbalance, 1'000 / 700.0);           // where there were two
}

TEST(Regions, ANestedOneIsARowAndInNoSum) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
  const uint64_t outer =
      made.BeginRegion("outer", 10'000, Asked(2, 2),
                       {{.tid = 1, .busy_ns = 10'000}, {.tid = 2, .busy_ns = 10'000}}, 1);
  for (int i = 0; i < 3; ++i) {
    Region inner = Asked(2, 1);
    inner.parent = outer;
    inner.nested_inline = true;
    made.Region("inner", 2'000, inner, {{.tid = 2, .busy_ns = 2'000}});
  }
  made.Wait(4'000);
  made.Leave();
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rows.size(), 2U);
  EXPECT_EQ(*report->per_inference, 1);
  EXPECT_EQ(*report->wall_ns, 10'000);
  EXPECT_EQ(*report->busy_ns, 20'000);
  EXPECT_EQ(*report->efficiency, 1);
  const RegionRow& row = RowOf(*report, "inner");
  EXPECT_TRUE(row.nested_inline);
  EXPECT_EQ(row.calls_per_run, 3);
  EXPECT_EQ(row.index, 1U);
  EXPECT_EQ(*row.parent, 1U);
  EXPECT_FALSE(row.idle_core_ns);  // another thread may be busy in the region around it
  EXPECT_FALSE(row.serial_ns);
  EXPECT_EQ(row.op, RowOf(*report, "outer").op);
  EXPECT_EQ(report->operators.at(0).regions_per_run, 1);
}

// A loop of another executor in a loop: it has a parent, and is not inline. Returns the facts.
Region InLoopOf(uint64_t outer, int32_t admitted) {
  Region inner = Asked(2, admitted);
  inner.parent = outer;
  inner.executor = 2;
  return inner;
}

TEST(Regions, ALoopOfAnotherExecutorInALoopIsCountedOnce) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
  const uint64_t outer =
      made.BeginRegion("outer", 10'000, Asked(2, 1), {{.tid = 1, .busy_ns = 10'000}}, 1);
  made.Region("inner", 10'000, InLoopOf(outer, 1), {{.tid = 1, .busy_ns = 10'000}}, 1);
  made.Leave();
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->per_inference, 1);
  EXPECT_EQ(*report->wall_ns, 10'000);
  EXPECT_EQ(*report->busy_ns, 10'000);
  EXPECT_EQ(*report->serial_ns, 10'000);
  EXPECT_EQ(*report->run_efficiency, 0.5);
  const profile::RegionOperator& op = report->operators.at(0);
  EXPECT_EQ(op.regions_per_run, 1);
  EXPECT_EQ(op.in_regions_ns, 10'000);
  EXPECT_EQ(*op.serial_ns, 10'000);
  EXPECT_EQ(*op.efficiency, 0.5);
  const RegionRow& row = RowOf(*report, "inner");
  EXPECT_FALSE(row.nested_inline);
  EXPECT_EQ(*row.parent, 1U);
  EXPECT_FALSE(row.idle_core_ns);
}

// Its threads are not those of the loop around it: what they do at once is not serial.
TEST(Regions, WhatAnotherExecutorDoesInALoopOnOneThreadIsNotSerial) {
  for (const bool known : {true, false}) {
    SyntheticProfile made;
    made.BeginRun();
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
    const uint64_t outer =
        made.BeginRegion("outer", 10'000, Asked(2, 1), {{.tid = 1, .busy_ns = 10'000}}, 1);
    std::vector<MadePart> parts = {{.tid = 1, .busy_ns = 8'000}, {.tid = 5, .busy_ns = 6'000}};
    if (!known) parts.clear();
    made.BeginRegion("inner", 8'000, InLoopOf(outer, 2), parts, 1);
    made.Wait(10'000);
    made.Leave();
    made.EndRun();
    const auto report = Analyze(made);
    ASSERT_TRUE(report);
    const profile::RegionOperator& op = report->operators.at(0);
    for (const auto* serial_ns : {&report->serial_ns, &op.serial_ns}) {
      ASSERT_EQ(serial_ns->has_value(), known);
      if (known) {
        EXPECT_EQ(**serial_ns, 4'000);
      }
    }
    EXPECT_EQ(*report->busy_ns, 10'000);
  }
}

TEST(Regions, ALoopWhosePartsEachSayTheyAreInTheOtherIsInNone) {
  SyntheticProfile made;
  made.BeginRun();
  made.Region("first", 1'000, InLoopOf(2, 1), {{.tid = 1, .busy_ns = 1'000}});
  made.Region("second", 1'000, InLoopOf(1, 1), {{.tid = 1, .busy_ns = 1'000}});
  made.Region("own", 1'000, InLoopOf(3, 1), {{.tid = 1, .busy_ns = 1'000}});
  made.Region("lost", 1'000, InLoopOf(99, 1), {{.tid = 1, .busy_ns = 1'000}});
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->per_inference, 4);
  EXPECT_EQ(*report->wall_ns, 4'000);
}

TEST(Regions, ALoopManyLoopsDeepIsOfTheOutermost) {
  SyntheticProfile made;
  made.BeginRun();
  uint64_t around = made.BeginRegion("loop", 1'000, Asked(2, 1), {{.tid = 1, .busy_ns = 1'000}});
  for (int i = 0; i < 100; ++i) {
    around = made.BeginRegion("loop", 1'000, InLoopOf(around, 1), {{.tid = 1, .busy_ns = 1'000}});
  }
  made.Wait(1'000);
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->per_inference, 1);
  EXPECT_EQ(*report->wall_ns, 1'000);
}

TEST(Regions, WithWallAloneOnlyOneThreadsLoopIsKnownToBeSerial) {
  SyntheticProfile made;
  made.BeginRun();
  made.Region("two", 1'000, Asked(2, 2), {});
  made.Region("one", 1'000, Asked(2, 1), {});
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->detail, "wall");
  const RegionRow& two = RowOf(*report, "two");
  for (const Metric<double>* figure :
       {&two.observed, &two.idle_core_ns, &two.serial_ns, &two.busy_utilization, &two.imbalance}) {
    ASSERT_FALSE(*figure);
    EXPECT_EQ(figure->missing().status, Status::kNotRequested);
    EXPECT_EQ(figure->missing().hint, "--regions=busy sees who took part");
  }
  EXPECT_EQ(two.busy_ns.missing().status, Status::kNotRequested);
  EXPECT_EQ(*RowOf(*report, "one").serial_ns, 1'000);
  EXPECT_FALSE(report->efficiency);
  EXPECT_FALSE(report->serial_ns);
}

TEST(Regions, CpuClocksHaveTheirOwnStatus) {
  SyntheticProfile made;
  Region facts = Asked(2, 2);
  facts.process_cpu_status = Status::kValid;
  facts.process_cpu_ns = 3'000'000;
  const auto part = [](int64_t tid, uint64_t cpu_ns) {
    return MadePart{.tid = tid,
                    .busy_ns = 2'000'000,
                    .facts = {.iterations = 50,
                              .chunks = 5,
                              .migrations = 1,
                              .first_cpu = static_cast<int32_t>(tid),
                              .last_cpu = 7,
                              .cpu_ns = cpu_ns,
                              .cpu_status = Status::kValid}};
  };
  made.BeginRun();
  made.Region("long", 2'000'000, facts, {part(1, 1'900'000), part(2, 1'000'000)});
  facts.process_cpu_status = Status::kBelowResolution;
  made.Region("short", 2'000, facts, {{.tid = 1, .busy_ns = 2'000}});
  made.EndRun();
  const std::vector<profile::CoreType> types = {{"performance", {0, 1, 2}}, {"efficient", {7}}};
  const auto report = Analyze(made, {.core_types = types});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->detail, "cpu");
  const RegionRow& row = RowOf(*report, "long");
  EXPECT_EQ(*row.process_cpu_ns, 3'000'000);
  EXPECT_EQ(*row.cpu_utilization, 0.75);  // 3 of 2 x 2 ms
  EXPECT_EQ(*row.worker_cpu_ns, (std::vector<double>{1'900'000, 1'000'000}));
  EXPECT_EQ(*row.participants.at(0).iterations, 50);
  EXPECT_EQ(row.participants[0].chunks, 5);
  EXPECT_EQ(row.participants[0].migrations, 1);
  EXPECT_EQ(row.participants[1].cpus, (std::vector<uint32_t>{2, 7}));
  EXPECT_EQ(row.participants[1].core_type, "performance, efficient");
  const RegionRow& brief = RowOf(*report, "short");
  EXPECT_EQ(brief.cpu_utilization.missing().status, Status::kBelowResolution);
  EXPECT_EQ(brief.participants.at(0).iterations.missing().status, Status::kUnavailable);
}

TEST(Regions, NoIterationsAreNoUtilization) {
  SyntheticProfile made;
  made.BeginRun();
  Region none = Asked(2, 0);
  none.iterations = 0;
  none.participants_status = Status::kValid;
  made.Region("none", 100, none, {});
  made.EndRun();
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rows.at(0).busy_utilization.missing().status, Status::kUnavailable);
  EXPECT_EQ(*report->rows[0].observed, 0);
  EXPECT_TRUE(report->rows[0].busy_ns->empty());
}

TEST(Regions, RunsThatDifferSaySo) {
  SyntheticProfile made;
  for (const int count : {2, 3}) {
    made.BeginRun();
    for (int i = 0; i < count; ++i) {
      made.Region("loop", 100, Asked(2, 1), {{.tid = 1, .busy_ns = 100}});
    }
    made.EndRun();
  }
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->per_inference);
  EXPECT_EQ(report->per_inference.missing().hint, "runs differ: 2 to 3 regions");
  EXPECT_EQ(report->mean_per_inference, 2.5);
  ASSERT_EQ(report->rows.size(), 3U);  // one for each place, not one for each label
  EXPECT_EQ(report->rows[2].calls_per_run, 0.5);
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

TEST(Regions, ARegionBehindItsRunsSlicesIsFoundByItsTime) {
  SyntheticProfile made;
  AddRun(made);
  made.profile.runs[0].slice_count = 3;  // the run's, the method's, the delegate's
  const auto report = AnalyzeRegions(made.profile, Rows(made), {});
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->per_inference, 2);
}

// Two sessions at once, each with its thread and its loops published behind its run.
TEST(Regions, OfConcurrentSessionsEachIsOfItsOwnRun) {
  // A session's runs are those of its methods, which nobody timed from outside.
  for (const Category outermost : {Category::kRun, Category::kMethod}) {
    SyntheticProfile made;
    const auto session = [&](int64_t start_ns, const char* label, int loops) {
      made.UseThread(start_ns == 1'000 ? 1 : 2);
      made.now_ns = start_ns;
      made.BeginRun();
      made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 1'000, 1);
      made.EndRun();
      made.profile.slices[made.profile.runs.back().first_slice].category = outermost;
      const int64_t behind_ns = made.now_ns;
      for (int i = 0; i < loops; ++i) {
        made.now_ns = start_ns + 500 + i;
        made.Region(label, 1, Asked(2, 1), {{.tid = 1, .busy_ns = 1}});
      }
      made.now_ns = behind_ns;
    };
    session(1'000, "first's", 3);
    session(1'400, "second's", 5);  // starts in the first one's run, and before its loops
    const auto report = Analyze(made);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->per_inference.missing().hint, "runs differ: 3 to 5 regions");
    EXPECT_EQ(RowOf(*report, "first's").calls_per_run, 0.5);

    made.profile.runs[1].mode = RunMode::kSettleOn;  // also where one of the two does not count
    const auto one = Analyze(made);
    ASSERT_TRUE(one);
    EXPECT_EQ(*one->per_inference, 3);
  }
}

TEST(Regions, BehindTheLastRunIsInNone) {
  SyntheticProfile made;
  AddRun(made);
  made.Wait(1);
  made.Region("later", 100, Asked(2, 1), {{.tid = 1, .busy_ns = 100}});
  const auto report = Analyze(made);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report->per_inference, 2);
}

// An instruction is one of its program. Where nothing is around a region, and two rows have its
// instruction, nobody knows of which it is.
TEST(Regions, OfTwoProgramsEachIsInItsOwnOperator) {
  SyntheticProfile made;
  const auto run = [&](Category category, const char* name, const char* label) {
    made.BeginRun();
    made.Enter(category, name, 1);
    made.Region(label, 100, Asked(2, 1), {{.tid = 1, .busy_ns = 100}}, 1);
    made.Leave();
    made.Region("nowhere", 100, Asked(2, 1), {{.tid = 1, .busy_ns = 100}}, 1);
    made.EndRun();
  };
  run(Category::kDelegateCall, "DELEGATE_CALL", "of the delegate");
  run(Category::kOperatorCall, "OPERATOR_CALL", "of an operator");
  run(Category::kOperatorCall, "encode", "of encode");
  run(Category::kOperatorCall, "decode", "of decode");
  PerfResult result;
  result.ops = BuildOperators(made.profile, result.model, {}).ops;
  const auto report = AnalyzeRegions(made.profile, result, {});
  ASSERT_TRUE(report);
  const auto op_of = [&](const char* label) -> std::string {
    const RegionRow& row = RowOf(*report, label);
    return row.op ? result.ops.at(*row.op).name : "in none";
  };
  EXPECT_EQ(op_of("of the delegate"), "DELEGATE_CALL@1");
  EXPECT_EQ(op_of("of an operator"), "OPERATOR_CALL@1");
  EXPECT_EQ(op_of("of encode"), "encode");
  EXPECT_EQ(op_of("of decode"), "decode");
  EXPECT_EQ(op_of("nowhere"), "in none");
}

TEST(Regions, OfTwoProgramsInScopesTheKernelTells) {
  SyntheticProfile made;
  made.BeginRun();
  for (const char* kernel : {"native_call_mm", "native_call_add"}) {
    made.Enter(Category::kScope, kernel + 12);
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
    made.Enter(Category::kKernel, kernel, 1);
    made.Region(kernel, 100, Asked(2, 1), {{.tid = 1, .busy_ns = 100}}, 1);
    for (int i = 0; i < 3; ++i) made.Leave();
  }
  made.EndRun();
  PerfResult result;
  result.ops = BuildOperators(made.profile, result.model, {}).ops;
  const auto report = AnalyzeRegions(made.profile, result, {});
  ASSERT_TRUE(report);
  for (const char* kernel : {"native_call_mm", "native_call_add"}) {
    EXPECT_EQ(result.ops.at(RowOf(*report, kernel).op.value()).name, kernel + 12);
  }
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

TEST(Regions, ThreadsAreTheMostThatOneAskedFor) {
  for (const std::pair<int32_t, int32_t>& asked : {std::pair(4, 2), std::pair(2, 4)}) {
    SyntheticProfile made;
    made.BeginRun();
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
    for (const int32_t threads : {asked.first, asked.second}) {
      made.Region("loop", 10'000, Asked(threads, 1), {{.tid = 1, .busy_ns = 10'000}}, 1);
    }
    made.Leave();
    made.EndRun();
    const auto report = Analyze(made);
    ASSERT_TRUE(report);
    EXPECT_EQ(*report->threads, 4);
    EXPECT_EQ(report->operators.at(0).requested, 4);
    EXPECT_EQ(*report->operators[0].efficiency, 0.25);
  }
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

TEST(ProcessCpu, IsThatOfBlocksOfRunsWithoutProfiling) {
  SyntheticProfile made;
  std::vector<profile::BlockReading> blocks;
  const auto block = [&](RunMode mode, int64_t cpu_ns, int64_t outside_ns) {
    profile::BlockReading reading;
    reading.start_ns = made.now_ns;
    for (int i = 0; i < 2; ++i) {
      made.BeginRun(mode);
      made.Wait(30'000'000);
      made.EndRun();
    }
    reading.end_ns = made.now_ns;
    reading.process_cpu_ns = cpu_ns;
    reading.outside_cpu_ns = outside_ns;
    blocks.push_back(reading);
  };
  block(RunMode::kWarmup, 900'000'000, 0);
  block(RunMode::kLatency, 100'000'000, 4'000'000);
  ASSERT_FALSE(ProcessCpuNs(made.profile, blocks));  // 60 ms of runs
  EXPECT_EQ(ProcessCpuNs(made.profile, blocks).missing().status, Status::kBelowResolution);
  block(RunMode::kLatency, 110'000'000, 6'000'000);
  block(RunMode::kPairOn, 900'000'000, 0);
  EXPECT_EQ(*ProcessCpuNs(made.profile, blocks), 50'000'000);  // (210 - 10) ms of 4 runs
  blocks[2].process_cpu_ns = {Status::kUnsupported, "no such clock"};
  EXPECT_EQ(ProcessCpuNs(made.profile, blocks).missing().status, Status::kUnsupported);
  EXPECT_EQ(ProcessCpuNs(made.profile, {}).missing().status, Status::kNotMeasured);
}

}  // namespace
}  // namespace inferprobe::analyze
