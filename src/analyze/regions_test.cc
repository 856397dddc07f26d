#include "analyze/regions.h"

#include <gtest/gtest.h>

#include <vector>

#include "analyze/busy_time.h"
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
