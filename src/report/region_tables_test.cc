#include "report/region_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/text.h"
#include "formats/result_json/result_samples.h"
#include "report/golden.h"
#include "report/region_list.h"
#include "report/region_summary.h"

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

// A result whose regions `edit` changed.
PerfResult Edited(const std::string& name, const std::function<void(RegionReport&)>& edit) {
  PerfResult result = Sample(name);
  RegionReport report = *result.regions;
  edit(report);
  result.regions = report;
  return result;
}

TEST(RegionSummary, IdleInRegionsAndIdleInTheRunAreTwoFigures) {
  const PerfResult result = Edited("regions", [](RegionReport& report) {
    report.not_observable.clear();
    report.threads = 4;
    report.idle_core_ns = 2e6;
    report.observable_ns = 10e6;
    report.run_efficiency = 0.4;
    report.serial_ns = 7e6;
    report.serial_share = 0.7;
  });
  const std::string text = RegionSummary(result);
  EXPECT_TRUE(Has(text,
                  "  in regions: efficiency 77 % of 4 threads · 2.00 ms of idle core-time a "
                  "run (an upper bound, not a saving)\n"));
  // 4 x 10 ms, of which 40 % are busy
  EXPECT_TRUE(Has(text,
                  "\n  in the whole run: efficiency 40 % · 24.0 ms of idle core-time · 70 % "
                  "is serial: 7.00 ms\n"));
}

TEST(RegionSummary, SaysOfHowMuchOfTheRunItSpeaks) {
  const PerfResult result = Edited("regions", [](RegionReport& report) {
    report.not_observable = {{.what = "QnnBackend", .why = "hidden", .wall_ns = 98e6}};
    report.threads = 2;
    report.observable_ns = 2e6;
    report.run_efficiency = 0.5;
    report.serial_ns = 2e6;
    report.serial_share = 0.02;
  });
  EXPECT_TRUE(Has(RegionSummary(result),
                  "\n  in the observable 2.0 % of the run: efficiency 50 % · 2.00 ms of "
                  "idle core-time · 100 % is serial: 2.00 ms\n"));
}

TEST(RegionSummary, OneThreadNearlyOneThreadAndNoneOfThese) {
  struct Case {
    double of_run;
    double serial;  // of its wall
    const char* sentence;
  };
  for (const Case& item : {
           Case{0.5, 1, "aten::addmm.out ran on one thread: 50.0 of the run's 100.0 ms"},
           Case{0.5, 0.9995, "aten::addmm.out ran on one thread: 50.0 of the run's"},
           Case{0.5, 0.99, "aten::addmm.out ran nearly all of the time on one thread: 49.5 of"},
           Case{0.5, 0.91, "aten::addmm.out ran nearly all of the time on one thread: 45.5 of"},
           Case{0.5, 0.89, nullptr},
           Case{0.051, 1, "aten::addmm.out ran on one thread: 5.1 of the run's 100.0 ms"},
           Case{0.049, 1, nullptr},
       }) {
    PerfResult result = Edited("regions", [&](RegionReport& report) {
      std::erase_if(report.operators, [&](const profile::RegionOperator& op) {
        return Sample("regions").ops.at(op.op).name != "aten::addmm.out";
      });
      report.operators.at(0).wall_ns = item.of_run * 100e6;
      report.operators[0].serial_ns = item.serial * item.of_run * 100e6;
    });
    result.profiled_mean_ns = 100e6;
    const std::string text = RegionSummary(result);
    if (item.sentence) {
      EXPECT_TRUE(Has(text, item.sentence)) << item.of_run << ' ' << item.serial << '\n' << text;
    } else {
      EXPECT_FALSE(Has(text, " on one thread")) << item.of_run << ' ' << item.serial;
    }
  }
}

TEST(RegionTables, OperatorsWithoutAFigureAreNotDroppedInSilence) {
  const profile::Missing not_asked{Status::kNotRequested, "--regions=busy sees who took part"};
  const profile::Missing full{Status::kOverflow, "12 participants"};
  const std::string table = "operators by idle core-time, a run (an upper bound, not a saving)";
  const auto with = [](const profile::Missing& why, size_t count) {
    return RegionTables(Edited("regions",
                               [&](RegionReport& report) {
                                 for (size_t i = 0; i < count; ++i) {
                                   profile::RegionOperator& op = report.operators.at(i);
                                   op.efficiency = op.idle_core_ns = op.serial_ns = why;
                                 }
                               }),
                        {});
  };
  // Where busy times were not asked for, those that have figures are not the worst.
  EXPECT_FALSE(Has(with(not_asked, 1), table));
  EXPECT_TRUE(
      Has(with(not_asked, 1),
          "\n  operators by idle core-time: n/a (not requested: --regions=busy sees who took "
          "part)\n"));
  EXPECT_TRUE(Has(with(full, 1), table));
  EXPECT_TRUE(Has(with(full, 1), "n/a      n/a  3.73 ms      n/a        3  XnnpackBackend #0\n"));
  EXPECT_TRUE(
      Has(with(full, 4), "\n  operators by idle core-time: n/a (overflow: 12 participants)\n"));
}

TEST(RegionTables, CountsOfThreadsAreWholeNumbers) {
  struct Case {
    double asked;
    const char* text;
  };
  for (const Case& item :
       {Case{1.5, "1.5 / 2"}, Case{147, "147 / 2"}, Case{999.4, "999 / 2"},
        Case{999.6, "1,000 / 2"}, Case{1000, "1,000 / 2"}, Case{12288, "12,288 / 2"}}) {
    const std::string text = RegionTables(
        Edited("regions", [&](RegionReport& report) { report.rows.at(0).requested = item.asked; }),
        {});
    EXPECT_TRUE(Has(text, std::string("  ") + item.text)) << text;
  }
}

TEST(RegionList, ARowNamesItsOperator) {
  PerfResult result = Edited("regions", [](RegionReport& report) { report.rows.at(0).op.reset(); });
  EXPECT_TRUE(Has(RegionTable(result).Render(Format::kCsv),
                  "\r\n3,2d_tile_2d_dynamic,n/a (unavailable),n/a (unavailable),"));
  EXPECT_TRUE(Has(RegionTable(result).Render(Format::kCsv), "4,parallel_for,aten::mul.out,3,"));
  EXPECT_TRUE(Has(RegionTable(result).Render(Format::kJson), "\"operator\": \"aten::mul.out\""));
  EXPECT_TRUE(Has(RegionTable(result).Render(Format::kMarkdown), "| aten::mul.out |"));
  result.ops.at(3).name = result.ops.at(2).name = "same\x1b";  // as the table has it, but raw
  EXPECT_TRUE(Has(RegionTable(result).Render(Format::kCsv), "4,parallel_for,same\x1b [2],3,"));
}

TEST(RegionList, CountsAreWholeForPeopleAndExactForMachines) {
  const PerfResult result = Edited("regions", [](RegionReport& report) {
    report.rows.at(0).iterations = 12288;
    report.rows.at(1).iterations = 12288.5;
  });
  const std::string people = RegionTable(result).Render(Format::kMarkdown);
  EXPECT_TRUE(Has(people, "| 12,288 |"));
  EXPECT_FALSE(Has(people, "e+"));
  const std::string machines = RegionTable(result).Render(Format::kCsv);
  EXPECT_TRUE(Has(machines, ",12288,"));
  EXPECT_TRUE(Has(machines, ",12288.5,"));
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
