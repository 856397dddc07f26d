#include "formats/result_json/result_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "formats/result_json/enum_names.h"
#include "formats/result_json/result_json.h"
#include "formats/result_json/result_samples.h"
#include "report/perf_text.h"

namespace inferprobe::result_json {
namespace {

using nlohmann::ordered_json;
using profile::PerfResult;

PerfResult Read(const std::string& text) {
  auto result = ParseResult(text, "r.json");
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : PerfResult{};
}

std::string ErrorOf(const std::string& text) {
  const auto result = ParseResult(text, "r.json");
  return result ? "read without an error" : result.error().message;
}

std::string Contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(ResultReader, WhatIsReadIsWrittenAsItWas) {
  for (const ResultSample& sample : ResultSamples()) {
    const std::string text = WriteResultJson(sample.result);
    EXPECT_EQ(WriteResultJson(Read(text)), text) << sample.name;
  }
}

TEST(ResultReader, TheTablesAreThoseOfTheMeasurement) {
  for (const ResultSample& sample : ResultSamples()) {
    const PerfResult read = Read(WriteResultJson(sample.result));
    for (const bool all_rows : {false, true}) {
      EXPECT_EQ(report::PerfText(read, {.all_rows = all_rows}),
                report::PerfText(sample.result, {.all_rows = all_rows}))
          << sample.name;
    }
    for (const auto format : {report::Format::kCsv, report::Format::kJson}) {
      EXPECT_EQ(report::PerfReport(read, format, {}), report::PerfReport(sample.result, format, {}))
          << sample.name;
    }
  }
}

TEST(ResultReader, RowsComeBackWithTheirDepthAndPlace) {
  for (const ResultSample& sample : ResultSamples()) {
    const PerfResult read = Read(WriteResultJson(sample.result));
    ASSERT_EQ(read.ops.size(), sample.result.ops.size()) << sample.name;
    for (size_t i = 0; i < read.ops.size(); ++i) {
      const profile::OpRow& row = sample.result.ops[i];
      EXPECT_EQ(read.ops[i].id, row.id);
      EXPECT_EQ(read.ops[i].parent, row.parent);
      EXPECT_EQ(read.ops[i].depth, row.depth) << sample.name << " " << i;
      EXPECT_EQ(read.ops[i].type, row.type);
      EXPECT_EQ(read.ops[i].in_ticks, row.in_ticks);
      EXPECT_EQ(read.ops[i].total_ticks, row.total_ticks);
    }
    ASSERT_EQ(read.slices.size(), sample.result.slices.size());
    for (size_t i = 0; i < read.slices.size(); ++i) {
      EXPECT_EQ(read.slices[i].depth, sample.result.slices[i].depth);
    }
    EXPECT_EQ(read.source.has_value(), sample.result.source.has_value());
    EXPECT_EQ(read.unwritten.size(), sample.result.unwritten.size());
    EXPECT_EQ(read.clock.read_cost_ps, sample.result.clock.read_cost_ps);
    EXPECT_EQ(read.latency.percentiles.size(), sample.result.latency.percentiles.size());
    EXPECT_EQ(read.losses.Get(profile::Loss::kUnknownField), 0U) << sample.name;
  }
}

TEST(ResultReader, SamplesHoldWhatTheOtherTestsNeed) {
  const auto stray = [](const PerfResult& result) {
    size_t layers = 0;
    size_t reported = 0;
    for (const auto& delegate : result.delegates) layers += delegate.layers.size();
    for (const auto& row : result.ops) reported += row.type == profile::RowType::kDelegateOp;
    return reported - layers;
  };
  EXPECT_EQ(stray(GetResultSample("recorded_blocks")), 1U);
  EXPECT_TRUE(GetResultSample("rounded").delegates.at(0).within_rounding);
}

TEST(ResultReader, AllWordsOfTheSchemaAreKnown) {
  const auto schema =
      ordered_json::parse(Contents(INFERPROBE_SOURCE_DIR "/docs/formats/result.schema.json"));
  const auto& defs = schema["$defs"];
  for (const std::string word : defs["missing"]["properties"]["status"]["enum"]) {
    EXPECT_TRUE(EnumOf<profile::Status>(word)) << word;
  }
  for (const std::string word : defs["kind"]["enum"]) {
    EXPECT_TRUE(EnumOf<profile::Kind>(word)) << word;
  }
  for (const std::string word : defs["op"]["properties"]["type"]["enum"]) {
    EXPECT_TRUE(EnumOf<profile::RowType>(word)) << word;
  }
  for (const std::string word : schema["properties"]["outputs"]["properties"]["verdict"]["enum"]) {
    EXPECT_TRUE(EnumOf<profile::OutputCheck::Verdict>(word)) << word;
  }
}

// Leaves out every field in turn: an error that names it, or, of those that may be absent, none.
TEST(ResultReader, EachRequiredFieldIsMissed) {
  const auto schema =
      ordered_json::parse(Contents(INFERPROBE_SOURCE_DIR "/docs/formats/result.schema.json"));
  const auto whole = ordered_json::parse(WriteResultJson(GetResultSample("rounded")));
  const auto check = [&](const ordered_json& required, const std::string& where,
                         const std::function<ordered_json&(ordered_json&)>& in) {
    for (const std::string key : required) {
      ordered_json copy = whole;
      in(copy).erase(key);
      const std::string error = ErrorOf(copy.dump());
      const std::string expected = fmt::format(": {}{}: this field is missing", where, key);
      EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
  };
  check(schema["required"], "", [](ordered_json& result) -> ordered_json& { return result; });
  for (const char* section : {"tool", "model", "engine", "environment", "settings", "warmup",
                              "latency_ms", "perturbation", "memory", "outputs"}) {
    check(schema["properties"][section]["required"], std::string(section) + ".",
          [&](ordered_json& result) -> ordered_json& { return result[section]; });
  }
  check(schema["$defs"]["op"]["required"], "ops[1].",
        [](ordered_json& result) -> ordered_json& { return result["ops"][1]; });
  check(schema["$defs"]["delegate"]["required"], "delegates[0].",
        [](ordered_json& result) -> ordered_json& { return result["delegates"][0]; });
}

TEST(ResultReader, EachRequiredFieldOfARegionIsMissed) {
  const auto schema =
      ordered_json::parse(Contents(INFERPROBE_SOURCE_DIR "/docs/formats/result.schema.json"));
  const auto whole = ordered_json::parse(WriteResultJson(GetResultSample("regions")));
  const auto check = [&](const ordered_json& required, const std::string& where,
                         const std::string& pointer) {
    ASSERT_FALSE(required.empty());
    for (const std::string key : required) {
      ordered_json copy = whole;
      copy[ordered_json::json_pointer(pointer)].erase(key);
      const std::string error = ErrorOf(copy.dump());
      const std::string expected = fmt::format(": {}.{}: this field is missing", where, key);
      EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
  };
  const auto& defs = schema["$defs"];
  check(schema["properties"]["regions"]["anyOf"][0]["required"], "regions", "/regions");
  check(defs["region"]["required"], "regions.rows[1]", "/regions/rows/1");
  check(defs["region"]["properties"]["counters"]["required"], "regions.rows[1].counters",
        "/regions/rows/1/counters");
  check(defs["region_rank"]["required"], "regions.rows[1].participants[0]",
        "/regions/rows/1/participants/0");
  check(defs["region_operator"]["required"], "regions.operators[0]", "/regions/operators/0");
  check(defs["not_observable"]["required"], "regions.not_observable[0]",
        "/regions/not_observable/0");
}

TEST(ResultReader, EachRequiredFieldOfAModuleIsMissed) {
  const auto schema =
      ordered_json::parse(Contents(INFERPROBE_SOURCE_DIR "/docs/formats/result.schema.json"));
  const auto whole = ordered_json::parse(WriteResultJson(GetResultSample("modules")));
  const auto check = [&](const ordered_json& required, const std::string& where,
                         const std::string& pointer) {
    ASSERT_FALSE(required.empty());
    for (const std::string key : required) {
      ordered_json copy = whole;
      copy[ordered_json::json_pointer(pointer)].erase(key);
      const std::string error = ErrorOf(copy.dump());
      const std::string expected = fmt::format(": {}.{}: this field is missing", where, key);
      EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
  };
  const auto& defs = schema["$defs"];
  check(schema["properties"]["module_summary"]["required"], "module_summary", "/module_summary");
  check(defs["module"]["required"], "modules[1]", "/modules/1");
  check(defs["module_operator"]["required"], "modules[0].operators[1]", "/modules/0/operators/1");
  check(defs["module_operator"]["required"], "module_summary.outside[0]",
        "/module_summary/outside/0");
  check(defs["not_covered"]["required"], "module_summary.not_covered[0]",
        "/module_summary/not_covered/0");

  ordered_json copy = whole;
  copy.erase("module_summary");
  EXPECT_NE(ErrorOf(copy.dump()).find("module_summary: this field is missing"), std::string::npos);
}

TEST(ResultReader, ModulesComeBackWithWhatTheFileDoesNotSpellOut) {
  for (const char* name : {"modules", "modules_on_device", "many_modules", "hostile_modules"}) {
    const profile::ModuleReport& made = *GetResultSample(name).modules;
    const PerfResult result = Read(WriteResultJson(GetResultSample(name)));
    ASSERT_TRUE(result.modules);
    const profile::ModuleReport& read = *result.modules;
    ASSERT_EQ(read.rows.size(), made.rows.size());
    for (size_t i = 0; i < made.rows.size(); ++i) {
      EXPECT_EQ(read.rows[i].module, made.rows[i].module);
      EXPECT_EQ(read.rows[i].depth, made.rows[i].depth);
      EXPECT_EQ(read.rows[i].facts.parent, made.rows[i].facts.parent);
      EXPECT_EQ(read.rows[i].facts.chosen, made.rows[i].facts.chosen);
      EXPECT_EQ(read.rows[i].outermost_calls, made.rows[i].outermost_calls);
      // Absent: as the summary says.
      ASSERT_EQ(read.rows[i].self_device_ns.has_value(), made.rows[i].self_device_ns.has_value());
      if (read.rows[i].self_device_ns) continue;
      EXPECT_EQ(read.rows[i].self_device_ns.missing().hint,
                made.rows[i].self_device_ns.missing().hint);
      EXPECT_EQ(read.rows[i].freed_bytes.has_value(), made.rows[i].freed_bytes.has_value());
    }
  }
}

TEST(ResultReader, OutermostCallsAreSomeOfTheCalls) {
  auto json = ordered_json::parse(WriteResultJson(GetResultSample("modules")));
  for (const int wrong : {0, 7}) {  // of 6 calls
    json["modules"][3]["outermost_calls"] = wrong;
    EXPECT_NE(ErrorOf(json.dump()).find("modules[3].outermost_calls: "), std::string::npos);
  }
}

TEST(ResultReader, WhatNobodyKnowsIsLeftOutAndCounted) {
  auto json = ordered_json::parse(WriteResultJson(GetResultSample("typical")));
  json["later"] = {{"a", 1}, {"b", 2}};
  json["ops"][1]["colour"] = "red";
  json["latency_ms"]["std"] = {{"status", "unavailable"}, {"hint", ""}, {"since", 3}};
  json["statistics"].push_back({{"name", "later_loss"},
                                {"value", 1},
                                {"severity", "info"},
                                {"blame", "input"},
                                {"advice", ""}});
  json["gpu_execution"] = {{"status", "refused"}, {"error", ""}, {"hint", ""}};
  json["$comment"] = "mine";
  const PerfResult read = Read(json.dump());
  EXPECT_EQ(read.losses.Get(profile::Loss::kUnknownField), 5U);
  EXPECT_EQ(read.latency.std.missing().status, profile::Status::kUnavailable);
}

TEST(ResultReader, WhiteSpaceKeyOrderAndByteOrderMarkDoNotMatter) {
  const std::string text = WriteResultJson(GetResultSample("one_sample"));
  const auto sorted = nlohmann::json::parse(text);  // keys in alphabetical order
  EXPECT_EQ(WriteResultJson(Read(sorted.dump())), text);
  EXPECT_EQ(WriteResultJson(Read("\xef\xbb\xbf\r\n " + sorted.dump(7, '\t') + "\n\n")), text);
}

TEST(ResultReader, ANegativeZeroKeepsItsSign) {
  PerfResult result = GetResultSample("rounded");
  result.ops[1].share = -0.0;
  EXPECT_TRUE(std::signbit(*Read(WriteResultJson(result)).ops[1].share));
  EXPECT_FALSE(std::signbit(Read(WriteResultJson(GetResultSample("extremes"))).clock.tick_ns));
}

TEST(ResultReader, IdsOfAFileAreNoPlaces) {
  auto json = ordered_json::parse(WriteResultJson(GetResultSample("delegates")));
  const auto move = [](auto& row, const char* key) {
    if (row.contains(key)) row[key] = row[key].template get<int>() + 1000;
  };
  const auto move_row = [&](auto& row) {
    move(row, "id");
    move(row, "parent");
  };
  for (auto& row : json["ops"]) move_row(row);
  for (auto& delegate : json["delegates"]) {
    move(delegate, "op");
    move(delegate, "whole_call");
    for (auto& layer : delegate["layers"]) move_row(layer);
  }
  const PerfResult result = Read(json.dump());
  EXPECT_EQ(WriteResultJson(result), WriteResultJson(GetResultSample("delegates")));

  json = ordered_json::parse(WriteResultJson(GetResultSample("regions")));
  for (auto& row : json["ops"]) move_row(row);
  for (auto& delegate : json["delegates"]) move(delegate, "op");
  for (auto& row : json["regions"]["rows"]) move(row, "op");
  for (auto& row : json["regions"]["operators"]) move(row, "op");
  EXPECT_EQ(WriteResultJson(Read(json.dump())), WriteResultJson(GetResultSample("regions")));
}

// Each case of tests/golden/result_json: a sample, what becomes of it, the error that follows.
TEST(ResultReader, ErrorsSayWhereWhatAndWhatInstead) {
  const std::filesystem::path folder = INFERPROBE_SOURCE_DIR "/tests/golden/result_json";
  const bool update = std::getenv("INFERPROBE_UPDATE_GOLDEN") != nullptr;
  auto cases = ordered_json::parse(Contents(folder / "errors.json"));
  for (auto& item : cases) {
    std::string text = item.contains("text") ? item["text"].get<std::string>() : "";
    if (text.empty()) {
      auto json = ordered_json::parse(WriteResultJson(GetResultSample(item["sample"])));
      for (const auto& [pointer, value] : item["set"].items()) {
        json[ordered_json::json_pointer(pointer)] = value;
      }
      text = json.dump(1);
    }
    if (item.contains("replace")) {
      const std::string from = item["replace"][0];
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << item["name"];
      text.replace(at, from.size(), item["replace"][1].get<std::string>());
    }
    const std::string error = ErrorOf(text);
    if (update) {
      item["error"] = error;
    } else {
      EXPECT_EQ(error, item["error"].get<std::string>()) << item["name"];
    }
  }
  if (update) std::ofstream(folder / "errors.json") << cases.dump(1) << '\n';
}

TEST(ResultReader, BytesThatAreNotUtf8HaveTheirPlace) {
  std::string text = WriteResultJson(GetResultSample("everything_missing"));
  const size_t at = text.find("inferprobe");
  text[at + 3] = '\xff';
  EXPECT_NE(ErrorOf(text).find("r.json: byte " + std::to_string(at + 3) + " (line 4)"),
            std::string::npos)
      << ErrorOf(text);
}

TEST(ResultReader, DeepNestingIsAnError) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_NE(ErrorOf(text).find("nested more than 64 levels deep"), std::string::npos);
  }
  // Rows name their parents, and nest without brackets.
  PerfResult deep;
  deep.profiled_runs = 1;
  for (uint32_t i = 0; i < 100'000; ++i) {
    profile::OpRow row;
    row.id = i;
    row.parent = i == 0 ? profile::kNone : i - 1;
    deep.ops.push_back(row);
  }
  const PerfResult read = Read(WriteResultJson(deep));
  EXPECT_EQ(read.ops.back().depth, 99'999U);
  // People are shown the first levels of such a tree.
  EXPECT_LT(report::PerfText(read, {}).size(), 100'000U);

  deep.ops.clear();
  profile::ModuleReport modules;
  for (uint32_t i = 0; i < 30'000; ++i) {
    profile::ModuleRow row;
    row.module = i;
    row.facts.parent = i == 0 ? profile::kNone : i - 1;
    modules.rows.push_back(row);
  }
  deep.modules = modules;
  const PerfResult nested = Read(WriteResultJson(deep));
  EXPECT_EQ(nested.modules->rows.back().depth, 29'999U);
  EXPECT_LT(report::PerfText(nested, {.all_rows = true}).size(), 100'000U);
}

TEST(ResultReader, AFileCutAnywhereIsAnErrorWithItsByte) {
  const std::string text = WriteResultJson(GetResultSample("everything_missing"));
  for (size_t length = 0; length + 1 < text.size(); ++length) {  // the last byte is a line feed
    const auto result = ParseResult(text.substr(0, length), "r.json");
    ASSERT_FALSE(result) << length;
    ASSERT_EQ(result.error().message.find("r.json: byte " + std::to_string(length) + " (line "), 0U)
        << result.error().message;
  }
}

TEST(ResultReader, FlippedBytesNeverCrash) {
  std::mt19937_64 random(20260401);  // NOLINT(cert-msc51-cpp): the same each time
  size_t refused = 0;
  for (const char* name : {"rounded", "recorded_slices", "ticks", "extremes", "regions",
                           "regions_of_own_code", "modules", "hostile_modules"}) {
    const std::string text = WriteResultJson(GetResultSample(name));
    for (int i = 0; i < 500; ++i) {
      std::string damaged = text;
      const uint64_t flips = 1 + random() % 3;
      for (uint64_t flip = 0; flip < flips; ++flip) {
        char& byte = damaged[random() % damaged.size()];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U << (random() % 8));
      }
      const auto result = ParseResult(damaged, "r.json");
      if (result) {
        EXPECT_FALSE(report::PerfText(*result, {}).empty());
        WriteResultJson(*result);
      } else {
        ++refused;
        EXPECT_NE(result.error().message.find("r.json: byte "), std::string::npos);
      }
    }
  }
  EXPECT_GT(refused, 500U);
}

TEST(ResultReader, IsReadFromAFile) {
  const std::string path = testing::TempDir() + "result_reader_test.json";
  std::ofstream(path, std::ios::binary) << WriteResultJson(GetResultSample("typical"));
  EXPECT_TRUE(ReadResult(path));
  std::filesystem::remove(path);
  const auto gone = ReadResult(path);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_NE(gone.error().message.find(path), std::string::npos);
}

TEST(LooksLikeResult, ByContent) {
  const auto looks = [](std::string_view text) { return LooksLikeResult(text, text.size()); };
  for (const ResultSample& sample : ResultSamples()) {
    const std::string text = WriteResultJson(sample.result);
    EXPECT_TRUE(LooksLikeResult(std::string_view(text).substr(0, 64), text.size()));
  }
  EXPECT_TRUE(looks("\xef\xbb\xbf \r\n{ \"schema_version\" : 2"));
  EXPECT_TRUE(looks(R"({"$comment": "a \" {", "x": [{"]": 1}, "}"], "y": -1, "schema_version": )"));
  EXPECT_FALSE(looks(""));
  EXPECT_FALSE(looks("{}"));
  EXPECT_FALSE(looks("{\"traceEvents\": [{\"schema_version\": 1}]}"));
  EXPECT_FALSE(looks("[{\"schema_version\": 1}]"));
  EXPECT_FALSE(looks(R"({"args": {"schema_version": 1}})"));
  EXPECT_FALSE(looks(R"({"name": "schema_version"})"));
  EXPECT_FALSE(looks(R"({"schemaVersion": 1, "deviceProperties": []})"));
  EXPECT_FALSE(looks("schema_version: 1"));
  EXPECT_FALSE(looks("\"schema_version\""));
  EXPECT_FALSE(looks(std::string_view("\x18\0\0\0ED00", 8)));
  EXPECT_FALSE(looks(std::string(5000, '{')));
  EXPECT_FALSE(looks("{\"a\\"));
}

}  // namespace
}  // namespace inferprobe::result_json
