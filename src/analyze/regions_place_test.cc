// Where a region belongs: its run, its operator, the loop that it was called in.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/regions_test_support.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::PerfResult;
using profile::Region;
using profile::RegionRow;
using profile::RunMode;

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
  // The outermost one, and one row of all that are inside it.
  ASSERT_EQ(report->rows.size(), 2U);
  for (const RegionRow& row : report->rows) {
    EXPECT_EQ(row.index, 1U);
    if (row.calls == 1) continue;
    EXPECT_EQ(row.calls, 100U);
    EXPECT_EQ(row.parent, 1U);
  }
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

}  // namespace
}  // namespace inferprobe::analyze
