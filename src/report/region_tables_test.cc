#include "report/region_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "formats/result_json/result_samples.h"
#include "report/golden.h"

namespace inferprobe::report {
namespace {

using profile::PerfResult;
using profile::RegionReport;
using profile::Status;

const PerfResult& Sample(const std::string& name) { return result_json::GetResultSample(name); }

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(RegionTables, LookAsTheyDid) {
  for (const char* name : {"regions", "regions_of_own_code"}) {
    ExpectGolden(std::string(name) + ".txt", PerfText(Sample(name), {}));
    ExpectGolden(std::string(name) + "_only.csv",
                 PerfReport(Sample(name), Format::kCsv, {.only_regions = true}));
  }
  ExpectGolden("regions_only.txt",
               PerfReport(Sample("regions"), Format::kTable, {.only_regions = true}));
  ExpectGolden("regions_only.md",
               PerfReport(Sample("regions"), Format::kMarkdown, {.only_regions = true}));
}

TEST(RegionTables, SaysHowManyRegionsWereLost) {
  PerfResult result = Sample("regions");
  RegionReport report = *result.regions;
  report.dropped = 12;
  result.regions = report;
  EXPECT_TRUE(
      Has(RegionTables(result, {}),
          "\n  12 regions found no place in the collector: nothing is added up over regions\n"));
}

TEST(RegionTables, AnOperatorOnOneThreadIsASentence) {
  EXPECT_TRUE(Has(RegionTables(Sample("regions"), {}),
                  "\n  aten::addmm.out ran on one thread: 129.1 of the run's 134.8 ms\n"));
}

TEST(RegionTables, WithOneThreadNothingRanOnOneThreadOnly) {
  PerfResult result = Sample("regions");
  RegionReport report = *result.regions;
  report.threads = 1;
  result.regions = report;
  EXPECT_FALSE(Has(RegionTables(result, {}), "ran on one thread"));
}

TEST(RegionTables, IdleIsAlwaysCalledAnUpperBound) {
  const std::string text = RegionTables(Sample("regions"), {});
  EXPECT_TRUE(Has(text, "idle core-time a run (an upper bound, not a saving)"));
  EXPECT_TRUE(Has(text, "operators by idle core-time, a run (an upper bound, not a saving)"));
}

TEST(RegionTables, WhatHasMoreTimeOnOneThreadFollowsWhereItIsNotShownYet) {
  PerfResult result = Sample("regions");
  RegionReport report = *result.regions;
  profile::RegionRow row = report.rows[0];
  report.rows.clear();
  for (int i = 0; i < 12; ++i) {
    row.where = "loop " + std::to_string(i);
    row.idle_core_ns = 1e6 - i;
    row.serial_ns = 1e6 - i;
    report.rows.push_back(row);
  }
  result.regions = report;
  EXPECT_FALSE(Has(RegionTables(result, {}), "most time on one thread"));
  report.rows[11].serial_ns = 3e6;
  result.regions = report;
  const std::string text = RegionTables(result, {});
  const size_t second = text.find("most time on one thread");
  ASSERT_NE(second, std::string::npos);
  EXPECT_GT(text.find("loop 11"), second);
  EXPECT_EQ(text.find("loop 10"), std::string::npos);
  EXPECT_TRUE(Has(RegionTables(result, {.all_rows = true}), "loop 10"));
}

TEST(RegionTables, InstructionsOfOneNameAreToldApart) {
  PerfResult result = Sample("regions");
  EXPECT_FALSE(Has(RegionTables(result, {}), "aten::mul.out ["));
  result.ops.at(3).name = result.ops.at(2).name = "same";
  EXPECT_TRUE(Has(RegionTables(result, {}), "parallel_for in same [2]"));
}

// In all three tables, also where names are cut.
TEST(RegionTables, InstructionsOfOneNameAreToldApartInEachTable) {
  for (const bool long_names : {false, true}) {
    PerfResult result = Sample("regions");
    const std::string name = long_names ? std::string(200, 'n') : "same";
    result.ops.at(3).name = result.ops.at(2).name = name;
    RegionReport report = *result.regions;
    profile::RegionRow row = report.rows[0];
    row.op = 3;
    row.where = long_names ? std::string(200, 'w') : "loop";
    report.rows.clear();
    for (int i = 0; i < 12; ++i) {
      row.idle_core_ns = row.serial_ns = 1e6 - i;
      if (i == 11) row.serial_ns = 3e6;
      report.rows.push_back(row);
    }
    result.regions = report;
    const std::string text = RegionTables(result, {});
    const size_t second = text.find("most time on one thread");
    const size_t third = text.find("operators by idle core-time");
    const std::string shown = fmt::format(" [{}]", *result.ops.at(3).instruction);
    ASSERT_LT(second, third);
    ASSERT_LT(third, text.size());
    EXPECT_LT(text.find(shown), second) << text;
    EXPECT_LT(text.find(shown, second), third) << text;
    EXPECT_LT(text.find(shown, third), text.size()) << text;
    EXPECT_LT(text.find(", region 3 of", second), third) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!Has(line, "ran on one thread")) {
        EXPECT_LE(base::DisplayWidth(line), 120U) << line;
      }
    }
  }
}

TEST(RegionTables, ALoopOfAnotherExecutorInALoopIsInsideIt) {
  PerfResult result = Sample("regions");
  RegionReport report = *result.regions;
  report.rows.at(0).parent = 2;
  report.rows[0].nested_inline = false;
  result.regions = report;
  EXPECT_TRUE(Has(RegionTables(result, {}), ", inside region 2 of 4"));
}

TEST(RegionTables, NotAskedForIsSilentAndNotPossibleIsNot) {
  PerfResult result;
  EXPECT_EQ(RegionTables(result, {}), "");
  result.regions = {Status::kUnsupported, "the loops of this engine are not seen"};
  EXPECT_EQ(RegionTables(result, {}),
            "\nthreads n/a (unsupported: the loops of this engine are not seen)\n");
  EXPECT_EQ(PerfReport(PerfResult{}, Format::kTable, {.only_regions = true}),
            "parallel regions: n/a (not requested: perf --regions)\n");
}

TEST(RegionTables, WithWallAloneThereIsNoColumnOfIdleTime) {
  PerfResult result = Sample("regions");
  RegionReport report = *result.regions;
  report.detail = "wall";
  const profile::Missing missing{Status::kNotRequested, "--regions=busy sees who took part"};
  for (profile::RegionRow& row : report.rows) {
    row.idle_core_ns = row.serial_ns = row.imbalance = row.observed = missing;
    row.busy_ns = missing;
    row.participants.clear();
  }
  report.efficiency = report.idle_core_ns = missing;
  result.regions = report;
  const std::string text = RegionTables(result, {});
  EXPECT_TRUE(Has(text, "host wall; --regions=busy sees who took part)"));
  EXPECT_TRUE(Has(text, "longest regions"));
  EXPECT_FALSE(Has(text, "worst regions"));
  EXPECT_TRUE(Has(text, "2 / 2 / n/a"));
}

// What a damaged or edited result may hold.
TEST(RegionTables, AnyFiguresCanBePrinted) {
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(), -1e30, 1e30, 0};
  for (size_t first = 0; first < std::size(odd); ++first) {
    PerfResult result = Sample("regions");
    RegionReport report = *result.regions;
    size_t at = first;
    const auto next = [&] { return odd[at++ % std::size(odd)]; };
    const profile::RegionRow row = report.rows[0];
    report.rows.clear();
    for (int i = 0; i < 40; ++i) {
      profile::RegionRow edited = row;
      edited.calls_per_run = edited.requested = edited.admitted = std::fabs(odd[2 + i % 3]);
      edited.observed = next();
      edited.wall_ns = edited.serial_ns = edited.imbalance = next();
      edited.idle_core_ns = next();
      edited.busy_ns = std::vector<double>{next(), next()};
      edited.op = static_cast<uint32_t>(i);
      edited.index = UINT32_MAX;
      edited.participants.resize(i % 4);
      report.rows.push_back(std::move(edited));
    }
    for (profile::RegionOperator& op : report.operators) {
      op.efficiency = op.idle_core_ns = op.serial_ns = next();
    }
    report.threads = INT64_MIN;
    report.per_inference = INT64_MIN;
    report.efficiency = report.serial_ns = report.serial_share = next();
    result.regions = report;
    for (const bool all_rows : {false, true}) {
      EXPECT_FALSE(RegionTables(result, {.all_rows = all_rows}).empty());
    }
    EXPECT_FALSE(RegionTable(result).Render(Format::kCsv).empty());
  }
}

TEST(RegionTables, NoNameReachesTheTerminalRaw) {
  const std::string text = RegionTables(Sample("regions_of_own_code"), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\t'), std::string::npos);
}

TEST(RegionTables, LinesAreNotMuchLongerThanATerminalsAre) {
  std::istringstream lines(RegionTables(Sample("regions"), {}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(base::DisplayWidth(line), 110U) << line;
  }
}

}  // namespace
}  // namespace inferprobe::report
