#include "report/perf_text.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "formats/result_json/result_samples.h"
#include "report/golden.h"

namespace inferprobe::report {
namespace {

const profile::PerfResult& Sample(const std::string& name) {
  return result_json::GetResultSample(name);
}

TEST(PerfText, LooksAsItDid) {
  for (const char* name : {"typical", "everything_missing", "one_sample", "hostile_names", "crash",
                           "extremes", "many_rows", "delegates"}) {
    ExpectGolden(std::string(name) + ".txt", PerfText(Sample(name), {}));
  }
}

TEST(PerfText, AllRowsLooksAsItDid) {
  ExpectGolden("typical_all.txt", PerfText(Sample("typical"), {.all_rows = true}));
}

TEST(PerfReport, OtherFormatsLookAsTheyDid) {
  ExpectGolden("typical.csv", PerfReport(Sample("typical"), Format::kCsv, {}));
  ExpectGolden("typical.md", PerfReport(Sample("typical"), Format::kMarkdown, {}));
  ExpectGolden("typical.json", PerfReport(Sample("typical"), Format::kJson, {}));
  ExpectGolden("hostile_names.csv", PerfReport(Sample("hostile_names"), Format::kCsv, {}));
}

TEST(PerfText, NoNameReachesTheTerminalRaw) {
  const std::string text = PerfText(Sample("hostile_names"), {});
  EXPECT_EQ(base::CountInvalidUtf8(text), 0U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);  // right-to-left override
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(PerfText, ColourIsOnlyThereWhenAskedFor) {
  EXPECT_EQ(PerfText(Sample("crash"), {}).find('\x1b'), std::string::npos);
  EXPECT_NE(PerfText(Sample("crash"), {.color = true}).find("\x1b[33m"), std::string::npos);
}

TEST(PerfText, FoldingHidesNoTime) {
  const std::string text = PerfText(Sample("many_rows"), {});
  EXPECT_NE(text.find("smaller rows: --all"), std::string::npos);
  EXPECT_NE(text.find("between instructions"), std::string::npos);
  EXPECT_NE(text.find("unattributed"), std::string::npos);
  const std::string all = PerfText(Sample("many_rows"), {.all_rows = true});
  EXPECT_EQ(all.find("--all"), std::string::npos);
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 600);
}

TEST(PerfText, AnOddCoverageIsAWarningAndRoundingIsNone) {
  profile::PerfResult result = Sample("typical");
  const auto has = [&](const char* part) {
    return PerfText(result, {}).find(part) != std::string::npos;
  };
  EXPECT_FALSE(has("warning: covers"));
  result.delegates[0].layer_coverage = 0.04;
  EXPECT_TRUE(has("\n  warning: covers 4 % of the call's host wall time; the rest is in none"));
  result.delegates[0].layer_coverage = 1.2;
  EXPECT_TRUE(has("\n  warning: covers 120 % of the call's host wall time; they overlap"));
  result.delegates[0].layer_coverage = {profile::Status::kBelowResolution, "why"};
  EXPECT_TRUE(has("\n  coverage n/a, below the engine's resolution: why\n"));
  EXPECT_FALSE(has("warning: covers"));
}

TEST(PerfText, SteadinessIsSaidForAFixedNumberOfRunsToo) {
  profile::PerfResult result = Sample("typical");
  result.warmup.rule = "count";
  const auto has = [&](const char* part) {
    return PerfText(result, {}).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("(by count; steady)"));
  result.warmup.steady_after = 23;
  EXPECT_TRUE(has("(by count; steady only after 23 more, which are counted in)"));
  result.warmup.steady = false;
  EXPECT_TRUE(has("(by count; NOT steady)"));
  result.warmup.steady = {profile::Status::kTooFewSamples, "needs 20, has 15"};
  EXPECT_TRUE(has("(by count; steadiness n/a (too few samples: needs 20, has 15))"));
}

TEST(PerfText, TheBarsStopBeforeAHugeOutlier) {
  profile::PerfResult result = Sample("typical");
  result.latency.samples_ms[0].back() = 17.1;
  EXPECT_NE(PerfText(result, {}).find(" beyond to 17.1 ms\n"), std::string::npos);
}

// Found by fuzz_result: a result that was edited.
TEST(PerfText, ACountOfNoRunsBesideAMeanIsShown) {
  profile::PerfResult result = Sample("typical");
  result.latency.count = 0;
  EXPECT_NE(PerfText(result, {}).find("  avg"), std::string::npos);
}

TEST(PerfText, WhatProfilingCostsIsALineUnderAHundredColumns) {
  const std::string text = PerfText(Sample("typical"), {});
  const size_t at = text.find("\nprofiling  costs +");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(text.find('\n', at + 1) - at - 1, 100U);
  EXPECT_NE(text.find("\nwhere the time goes (host wall, per run, 60 profiled runs)\n"),
            std::string::npos);
}

TEST(PerfText, KindsDoNotShareATable) {
  const std::string text = PerfText(Sample("typical"), {});
  const size_t host = text.find("where the time goes (host wall");
  const size_t engine = text.find("(engine-reported, whole us");
  ASSERT_NE(host, std::string::npos);
  ASSERT_NE(engine, std::string::npos);
  EXPECT_EQ(text.substr(host, engine - host).find("Convolution"), std::string::npos);
}

TEST(PerfText, ARatioWithoutAnIntervalIsNotPrinted) {
  profile::PerfResult result = Sample("typical");
  const profile::Missing few{profile::Status::kTooFewSamples, "needs 6, has 3"};
  result.perturbation.ratio = 12.0;
  result.perturbation.interval = few;
  result.perturbation.null_ratio = 0.01;
  result.perturbation.null_interval = few;
  const std::string text = PerfText(result, {});
  EXPECT_NE(text.find("costs n/a (too few samples: needs 6, has 3) of a run"), std::string::npos);
  EXPECT_EQ(text.find("1100"), std::string::npos);
  EXPECT_EQ(text.find("-99"), std::string::npos);
}

TEST(PerfText, WhatKnowsNoDelegatesAndInstructionsHasNone) {
  profile::PerfResult result = Sample("typical");
  result.model.delegates.clear();
  result.model.instructions = {profile::Status::kUnsupported, "no program of instructions"};
  const std::string text = PerfText(result, {});
  const std::string model = text.substr(text.find("model "), text.find("machine ") - 6);
  EXPECT_EQ(model.find("delegate"), std::string::npos) << model;
  EXPECT_EQ(model.find("instruction"), std::string::npos) << model;
}

}  // namespace
}  // namespace inferprobe::report
