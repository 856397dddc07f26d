#include "report/module_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "formats/result_json/result_samples.h"
#include "report/golden.h"
#include "report/perf_text.h"

namespace inferprobe::report {
namespace {

using profile::ModuleReport;
using profile::PerfResult;

const PerfResult& Sample(const std::string& name) { return result_json::GetResultSample(name); }

PerfResult With(const std::string& name, void (*change)(ModuleReport&)) {
  PerfResult result = Sample(name);
  ModuleReport report = *result.modules;
  change(report);
  result.modules = std::move(report);
  return result;
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ModuleText, LooksAsItDid) {
  for (const char* name : {"modules", "modules_on_device", "many_modules", "hostile_modules"}) {
    ExpectGolden(std::string(name) + ".txt", PerfText(Sample(name), {}));
  }
  ExpectGolden("modules_events.txt", ModuleText(Sample("modules"), {.show_events = true}));
  ExpectGolden("modules_on_device_events.txt",
               ModuleText(Sample("modules_on_device"), {.show_events = true}));
}

TEST(ModuleText, WhereCallsWereDroppedNoneIsSaidToBeNotCalled) {
  PerfResult result = With("modules", [](ModuleReport& report) { report.rows.back().calls = 0; });
  EXPECT_TRUE(Has(ModuleText(result, {}), "not called"));
  result.losses.Add(profile::Loss::kRingDropped);
  EXPECT_FALSE(Has(ModuleText(result, {}), "not called"));
  EXPECT_TRUE(Has(ModuleText(result, {}), "not recorded"));
}

TEST(ModuleText, OneReasonIsOneLineThatNamesAFew) {
  const PerfResult result = With("modules", [](ModuleReport& report) {
    report.facts.not_covered.clear();
    for (const char* what : {"a", "b", "c", "d", "e", "f", "g"}) {
      report.facts.not_covered.push_back({what, "fused"});
      if (*what == 'b') report.facts.not_covered.push_back({"x", "traced: it has no forward"});
    }
  });
  const std::string text = ModuleText(result, {});
  EXPECT_TRUE(Has(text, "  not covered: a, b, c, d, e and 2 more: fused\n"));
  EXPECT_TRUE(Has(text, "  not covered: x: traced: it has no forward\n"));
  EXPECT_EQ(text.find("fused"), text.rfind("fused"));
}

TEST(ModuleTable, LooksAsItDid) {
  ExpectGolden("modules.csv", PerfReport(Sample("modules"), Format::kCsv, {}));
  ExpectGolden("modules_on_device.md",
               PerfReport(Sample("modules_on_device"), Format::kMarkdown, {}));
  ExpectGolden("hostile_modules.csv", PerfReport(Sample("hostile_modules"), Format::kCsv, {}));
}

TEST(ModuleText, WhatWasNotRecordedHasNoColumn) {
  const std::string plain = ModuleText(Sample("many_modules"), {});
  for (const char* title : {"device self", "memory self", "allocated", "device memory"}) {
    EXPECT_FALSE(Has(plain, title)) << title;
  }
  EXPECT_FALSE(Has(plain.substr(0, plain.find("Stack")), "operators"));
  EXPECT_TRUE(Has(plain, "operators: n/a (not requested: detail=\"ops\")"));
  EXPECT_TRUE(Has(plain, "memory: n/a (not requested: memory=True)"));
  EXPECT_TRUE(Has(ModuleText(Sample("modules"), {}), "memory self"));
  EXPECT_FALSE(Has(ModuleText(Sample("modules"), {}), "device self"));
  EXPECT_TRUE(Has(ModuleText(Sample("modules_on_device"), {}), "device total"));
  EXPECT_FALSE(Has(ModuleText(Sample("modules_on_device"), {}), "allocated"));
}

TEST(ModuleText, AModuleWithTwoPathsHasItsFiguresOnce) {
  const std::string text = ModuleText(Sample("modules"), {});
  EXPECT_TRUE(Has(text, "└── 4 is features.1 again"));
  EXPECT_TRUE(Has(text, "└── 2 is features.1 again"));
  EXPECT_EQ(text.find("ReLU"), text.rfind("ReLU"));
}

TEST(ModuleText, WhatIsInsideAModuleThatIsThereAgainIsNotRepeated) {
  const PerfResult result = With("modules_on_device", [](ModuleReport& report) {
    report.rows[1].facts.also = {"alias", "nowhere.x"};
    report.rows[2].facts.parent = report.rows[1].module;
    report.rows[2].facts.path = "up.in";
    report.rows[2].facts.also = {"alias.in"};
  });
  const std::string text = ModuleText(result, {});
  EXPECT_TRUE(Has(text, "└── alias is up again"));
  EXPECT_TRUE(Has(text, "  nowhere.x is up again"));
  EXPECT_FALSE(Has(text, "up.in again"));
}

TEST(ModuleText, SaysWhichCallsTheTotalIsOf) {
  EXPECT_TRUE(Has(ModuleText(Sample("modules"), {}), "6 (4 outermost)"));
}

TEST(ModuleText, FoldsOnlyWhereThereIsAFlagToUnfold) {
  const std::string all = ModuleText(Sample("many_modules"), {});
  EXPECT_FALSE(Has(all, "--all"));
  EXPECT_GT(LinesOf(all), 120U + 20U);
  const std::string folded = PerfText(Sample("many_modules"), {});
  EXPECT_TRUE(Has(folded, "smaller: --all"));
  EXPECT_LT(LinesOf(folded), 80U);
  EXPECT_GT(LinesOf(PerfText(Sample("many_modules"), {.all_rows = true})), 120U);
}

// Containers that were not chosen have no time of their own.
TEST(ModuleText, FoldingKeepsWhatTakesTimeInsideWhatHasNone) {
  const PerfResult result = With("modules", [](ModuleReport& report) {
    profile::ModuleRow& features = report.rows[1];
    features.calls = 0;
    features.total_ns = features.self_ns = features.operators_ns = features.children_ns =
        profile::Missing{profile::Status::kNotRequested, ""};
  });
  EXPECT_TRUE(Has(ModuleText(result, {.fold = true}), "├── 0 "));
}

TEST(ModuleText, SaysWhatWasNotSeen) {
  const std::string text = ModuleText(Sample("modules"), {.fold = true});
  EXPECT_TRUE(Has(text, "not covered: traced: traced: it has no forward of Python"));
  EXPECT_TRUE(Has(text, "not covered: thread 4712: with memory"));
  EXPECT_TRUE(Has(text, "in no module: 61.0 us of operators: aten::randn 21.0 us in 1 call"));
  EXPECT_TRUE(Has(text, "may be off by 310 ns"));
  const std::string none = ModuleText(Sample("typical"), {});
  EXPECT_EQ(none, "modules: n/a (unsupported: only models of PyTorch have modules)\n");
  EXPECT_FALSE(Has(PerfText(Sample("typical"), {}), "modules"));
}

TEST(ModuleText, AFigureThatIsMissingIsNotZero) {
  const PerfResult result = With("modules", [](ModuleReport& report) {
    report.rows[0].total_ns = {profile::Status::kOverflow, ""};
    report.rows[2].total_cpu_bytes = {profile::Status::kOverflow, ""};
  });
  const std::string text = ModuleText(result, {});
  const std::string root = text.substr(text.find("  AlexNet"), text.find("features"));
  EXPECT_TRUE(Has(root, "n/a (overflow)"));
  EXPECT_TRUE(Has(text.substr(text.find("── 0 ")), "n/a (overflow)"));
}

TEST(ModuleText, NoNameReachesTheTerminalRaw) {
  for (const bool events : {false, true}) {
    const std::string text = ModuleText(Sample("hostile_modules"), {.show_events = events});
    EXPECT_EQ(base::CountInvalidUtf8(text), 0U);
    EXPECT_FALSE(Has(text, "\x1b"));
    EXPECT_FALSE(Has(text, "\xe2\x80\xae"));
    EXPECT_FALSE(Has(text, "\t"));
  }
}

// One long name must not widen every other line.
TEST(ModuleText, IsBoundedByWhatItShows) {
  const PerfResult result = With("many_modules", [](ModuleReport& report) {
    report.rows[1].facts.path = std::string(1'000'000, 'x');
    report.rows[2].facts.class_name = std::string(1'000'000, 'y');
  });
  EXPECT_LT(ModuleText(result, {}).size(), 100'000U);
}

TEST(PerfText, ARecordingOfModulesAloneHasNoEmptyBlocks) {
  PerfResult result = Sample("modules");
  for (const bool read : {true, false}) {
    if (!read) result.source.reset();
    const std::string text = PerfText(result, {});
    EXPECT_TRUE(Has(text, "model      AlexNet   PyTorch 2.13.0 · 10 modules"));
    EXPECT_FALSE(Has(text, "latency"));
    EXPECT_FALSE(Has(text, "where the time goes"));
    EXPECT_FALSE(Has(text, "planned"));
    EXPECT_FALSE(Has(text, "\n\n\n"));
  }
}

TEST(PerfText, ModulesStandBeforeOperators) {
  PerfResult result = Sample("typical");
  result.modules = *Sample("modules").modules;
  const std::string text = PerfText(result, {});
  EXPECT_LT(text.find("\nmodules (host wall, sum of 60 profiled runs"),
            text.find("where the time goes"));
  EXPECT_FALSE(Has(text, "3 instructions"));
}

}  // namespace
}  // namespace inferprobe::report
