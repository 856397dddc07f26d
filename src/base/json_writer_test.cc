#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"

namespace inferprobe::base {
namespace {

using namespace std::string_literals;

std::string OneString(std::string_view text) {
  JsonWriter json(0);
  json.String(text);
  return std::move(json).Take();
}

std::string OneNumber(double value) {
  JsonWriter json(0);
  json.Number(value);
  return std::move(json).Take();
}

TEST(JsonWriter, EmptyContainers) {
  JsonWriter json(0);
  json.BeginObject();
  json.Key("a").BeginArray().EndArray();
  json.Key("o").BeginObject().EndObject();
  json.EndObject();
  EXPECT_EQ(json.text(), R"({"a":[],"o":{}})");
}

TEST(JsonWriter, IndentsObjectsAndKeepsFlatArraysOnALine) {
  JsonWriter json;
  json.BeginObject();
  json.Key("samples").BeginArray(true);
  json.Number(0.5).Int(-2).BeginArray().Uint(3).EndArray();
  json.EndArray();
  json.Key("rows").BeginArray();
  json.BeginObject();
  json.Key("ok").Bool(true);
  json.Key("none").Null();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  EXPECT_EQ(json.text(), R"({
  "samples": [0.5, -2, [3]],
  "rows": [
    {
      "ok": true,
      "none": null
    }
  ]
}
)");
}

TEST(JsonWriter, EscapesWhatJsonCannotHold) {
  EXPECT_EQ(OneString("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(OneString("\x01\x1f\x7f"), R"("\u0001\u001f\u007f")");
  EXPECT_EQ(OneString("a\0b"s), R"("a\u0000b")");
  EXPECT_EQ(OneString("\xff"), R"("\\xFF")");
}

TEST(JsonWriter, KeysAreEscapedToo) {
  JsonWriter json(0);
  json.BeginObject();
  json.Key("a\"\n\xfe").Int(1);
  json.EndObject();
  EXPECT_EQ(json.text(), R"({"a\"\n\\xFE":1})");
}

// Any bytes make valid JSON, and any valid UTF-8 comes back as it went in.
TEST(JsonWriter, AnyStringGoesRoundTheTrip) {
  std::mt19937 random(3);
  const std::vector<std::string> hostile = {
      "\"", "\\",        "\n",   "\0"s,      "\x1b[2J",      "\u202e", "\u2028",
      "😀", "</script>", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\x7f",   std::string(5000, 'x')};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n) text += hostile[random() % hostile.size()];
    const auto parsed = nlohmann::json::parse(OneString(text));
    ASSERT_EQ(parsed.get<std::string>(), RepairUtf8(text).text);
  }
}

TEST(JsonWriter, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(OneNumber(0.1), "0.1");
  EXPECT_EQ(OneNumber(1), "1");
  EXPECT_EQ(OneNumber(-0.195), "-0.195");
}

TEST(JsonWriter, AnyFiniteDoubleReadsBackBitForBit) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50000; ++round) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = OneNumber(value);
    double back = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(error, std::errc()) << text;
    ASSERT_EQ(end, text.data() + text.size()) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(value)) << text;
    ASSERT_EQ(nlohmann::json::parse(text).get<double>(), value) << text;
  }
}

TEST(JsonWriter, NumbersThatJsonLacksAreNull) {
  EXPECT_EQ(OneNumber(std::nan("")), "null");
  EXPECT_EQ(OneNumber(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(OneNumber(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, IntegersAreExactAtTheirLimits) {
  JsonWriter json(0);
  json.BeginArray();
  json.Int(std::numeric_limits<int64_t>::min());
  json.Uint(std::numeric_limits<uint64_t>::max());
  json.EndArray();
  EXPECT_EQ(json.text(), "[-9223372036854775808,18446744073709551615]");
}

}  // namespace
}  // namespace inferprobe::base
