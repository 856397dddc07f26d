#include "formats/result_json/result_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "formats/result_json/result_samples.h"

namespace inferprobe::result_json {
namespace {

using nlohmann::json;

json Written(const std::string& name) {
  return json::parse(WriteResultJson(GetResultSample(name)));
}

TEST(ResultJson, ParsesAndIsTheSameEveryTime) {
  for (const ResultSample& sample : ResultSamples()) {
    const std::string text = WriteResultJson(sample.result);
    EXPECT_EQ(text, WriteResultJson(sample.result)) << sample.name;
    EXPECT_TRUE(json::accept(text)) << sample.name;
  }
}

TEST(ResultJson, NeverWritesNull) {
  const std::function<void(const json&, const std::string&)> visit = [&](const json& node,
                                                                         const std::string& path) {
    EXPECT_FALSE(node.is_null()) << path;
    if (!node.is_structured()) return;
    for (const auto& [key, value] : node.items()) visit(value, path + "/" + key);
  };
  for (const ResultSample& sample : ResultSamples()) {
    visit(json::parse(WriteResultJson(sample.result)), sample.name);
  }
}

TEST(ResultJson, NumbersReadBackBitForBit) {
  const auto& samples = GetResultSample("extremes").latency.samples_ms;
  const json written = Written("extremes");
  ASSERT_EQ(written["latency_ms"]["samples"].size(), samples.size());
  for (size_t process = 0; process < samples.size(); ++process) {
    EXPECT_EQ(written["latency_ms"]["samples"][process].get<std::vector<double>>(),
              samples[process]);
  }
  EXPECT_EQ(written["load_ms"].get<double>(), 9.999999999999999e29);
  EXPECT_EQ(written["ops"][0]["total_ns"].get<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(written["ops"][0]["self_ns"].get<int64_t>(), std::numeric_limits<int64_t>::min());
}

TEST(ResultJson, AFigureThatIsNotFiniteSaysSo) {
  const json written = Written("extremes");
  EXPECT_EQ(written["latency_ms"]["std"]["status"], "unavailable");
  EXPECT_EQ(written["latency_ms"]["max"]["status"], "unavailable");
  EXPECT_EQ(written["ops"][0]["share"]["status"], "unavailable");
}

TEST(ResultJson, MissingFiguresCarryTheirReason) {
  const json written = Written("one_sample");
  EXPECT_EQ(written["latency_ms"]["p99"],
            json::parse(R"({"status": "too_few_samples", "hint": "needs 100, has 1"})"));
  EXPECT_EQ(written["environment"]["governor"]["status"], "unsupported");
  EXPECT_EQ(written["modules"]["status"], "unsupported");
  EXPECT_EQ(written["warmup"]["steady"],
            json::parse(R"({"status": "too_few_samples", "hint": "needs 20, has 1"})"));
  EXPECT_FALSE(written.contains("gpu_execution"));
}

TEST(ResultJson, AnOpenIntervalHasAReasonForItsUpperBound) {
  const json interval = Written("crash")["latency_ms"]["intervals"]["p90"];  // 25 samples
  ASSERT_TRUE(interval.is_array());
  EXPECT_TRUE(interval[0].is_number());
  EXPECT_EQ(interval[1]["status"], "too_few_samples");
}

TEST(ResultJson, EngineReportedRowsStandUnderTheirDelegateOnly) {
  const json written = Written("typical");
  for (const json& row : written["ops"]) EXPECT_EQ(row["kind"], "host_wall");
  ASSERT_EQ(written["delegates"].size(), 1U);
  EXPECT_EQ(written["delegates"][0]["layers"].size(), 7U);
  for (const json& row : written["delegates"][0]["layers"]) {
    EXPECT_EQ(row["kind"], "engine_reported");
    EXPECT_EQ(row["probe_cost_ns"]["status"], "not_measured");
  }
  EXPECT_EQ(written["delegates"][0]["resolution_ns"], 1000);
}

TEST(ResultJson, RowsAddUpForAReaderToo) {
  for (const char* name : {"typical", "many_rows", "hostile_names"}) {
    const json written = Written(name);
    std::map<int64_t, int64_t> inside;
    for (const json& row : written["ops"]) {
      if (row.contains("parent")) inside[row["parent"]] += row["total_ns"].get<int64_t>();
    }
    for (const json& row : written["ops"]) {
      EXPECT_EQ(row["self_ns"].get<int64_t>() + inside[row["id"]], row["total_ns"]) << name;
    }
  }
}

TEST(ResultJson, NamesComeBackAsTheyWere) {
  const json written = Written("hostile_names");
  std::vector<std::string> names;
  for (const json& row : written["ops"]) names.push_back(row["name"]);
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has("quo\"te | pipe, comma"));
  EXPECT_TRUE(has("line\nbreak\ttab"));
  EXPECT_TRUE(has("\x1b[31mred"));
  EXPECT_TRUE(
      has("bad\\xFF\\xFE"
          "bytes"));  // not UTF-8: as text
  EXPECT_TRUE(has(std::string(5000, 'x').c_str()));
}

}  // namespace
}  // namespace inferprobe::result_json
