// What is read as it was meant, what is counted, and what is refused with its byte.
#include "formats/trex/lenient_json.h"

#include <gtest/gtest.h>

namespace inferprobe::trex {
namespace {

using profile::Loss;
using profile::LossCounts;

TEST(LenientJson, TextsAsTheyWereMeant) {
  const struct {
    std::string_view text;
    std::string_view meant;
    uint64_t repaired;
  } cases[] = {
      {R"("plain")", "plain", 0},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t", 0},
      {R"("\u0041\u00e9\u7f16\ud83d\ude00")", "A\xc3\xa9\xe7\xbc\x96\xf0\x9f\x98\x80", 0},
      {R"("C:\models\resnet")", "C:\\models\resnet", 1},  // \r is an escape, \m is none
      {R"("\ud83d alone")", "\\ud83d alone", 1},
      {R"("\u12")", "\\u12", 1},
      {R"("\ud83d\u0041")", "\\ud83dA", 1},
      {"\"a\x1e\x1f\nb\"", "a\x1e\x1f\nb", 1},
      {"\"\xc3\xa9\"", "\xc3\xa9", 0},
  };
  for (const auto& each : cases) {
    LossCounts losses;
    LenientJson json(each.text, "x", &losses);
    EXPECT_EQ(json.String(), each.meant);
    EXPECT_TRUE(json.AtEnd());
    EXPECT_FALSE(json.Truncated()) << each.text;
    EXPECT_EQ(losses.Get(Loss::kJsonRepaired), each.repaired) << each.text;
  }
}

TEST(LenientJson, NumbersAndWhatIsNone) {
  const struct {
    std::string_view text;
    std::optional<double> value;
    uint64_t not_a_number;
  } cases[] = {
      {"6.0 ", 6, 0},    {"1e-3 ", 1e-3, 0},
      {"-2 ", -2, 0},    {"null ", {}, 0},
      {"nan ", {}, 1},   {"-nan ", {}, 1},
      {"NaN ", {}, 1},   {"-nan(ind) ", {}, 1},
      {"inf ", {}, 1},   {"-Infinity", {}, 0} /* the end: cut */,
      {"1e999 ", {}, 1},
  };
  for (const auto& each : cases) {
    LossCounts losses;
    LenientJson json(each.text, "x", &losses);
    EXPECT_EQ(json.Number(), each.value) << each.text;
    EXPECT_FALSE(json.Failed());
    EXPECT_EQ(json.Truncated(), !each.text.ends_with(' '));
    EXPECT_EQ(losses.Get(Loss::kNotANumber), each.not_a_number) << each.text;
  }
  for (const std::string_view wrong : {"1.2.3 ", "0x10 ", "true ", "--1 ", "nano "}) {
    LossCounts losses;
    LenientJson json(wrong, "x", &losses);
    EXPECT_EQ(json.Number(), std::nullopt);
    EXPECT_TRUE(json.Failed()) << wrong;
    EXPECT_NE(json.Failure().message.find("x: byte 0 (line 1): \""), std::string::npos)
        << json.Failure().message;
  }
}

// What a text holds, and how it went.
std::string Walk(std::string_view text, LossCounts* losses) {
  LenientJson json(text, "x", losses);
  std::string out;
  if (json.Peek() == LenientJson::Next::kArray) {
    json.Open();
    while (json.NextElement()) {
      out += json.Peek() == LenientJson::Next::kString ? json.String() : "?";
      if (out.ends_with('?')) json.Skip();
    }
  } else {
    json.Open();
    while (const auto key = json.NextMember()) {
      out += *key;
      json.Skip();
    }
  }
  if (json.Failed()) return out + " failed: " + json.Failure().message;
  if (json.Truncated()) return out + " cut";
  return json.OnlySpaceLeft() ? out : out + " more";
}

TEST(LenientJson, ListsAndObjectsToTheirEnd) {
  const struct {
    std::string_view text;
    std::string_view walked;
    uint64_t repaired;
  } cases[] = {
      {R"([])", "", 0},
      {R"( [ "a" , "b" ] )", "ab", 0},
      {R"(["a","b",])", "ab", 1},
      {R"([,"a",,"b"])", "ab", 2},
      {"\xef\xbb\xbf[\"a\"]", "a", 1},
      {R"({"a":1,"b":{"c":[1,{"d":"}]"}]},"e":null,})", "abe", 1},
      {R"([1,[2,[3]],{"x":[]},"a"])", "???a", 0},
      {R"(["a"] "b")", "a more", 0},
      {R"(["a" "b"])", "a failed: x: byte 5 (line 1): a comma or a closing bracket is missing", 0},
      {"[\"a\",\n:]", "a? failed: x: byte 6 (line 2): a value is missing", 0},
      {R"({"a" 1})", " failed: x: byte 5 (line 1): a colon is missing behind a member's name", 0},
      {R"({1:2})", " failed: x: byte 1 (line 1): a member's name is missing", 0},
      {R"(["a"})", "a failed: x: byte 4 (line 1): a comma or a closing bracket is missing", 0},
      {R"(["a","b)", "a cut", 0},
      {R"(["a",)", "a cut", 0},
      {R"({"a":{"b":[1,)", "a cut", 0},
      {R"({"a)", " cut", 0},
      {"", " failed: x: byte 0 (line 1): no list and no object", 0},
  };
  for (const auto& each : cases) {
    LossCounts losses;
    EXPECT_EQ(Walk(each.text, &losses), each.walked) << each.text;
    EXPECT_EQ(losses.Get(Loss::kJsonRepaired), each.repaired) << each.text;
  }
}

TEST(LenientJson, WhatLiesTooDeepIsRefusedAndNotFollowed) {
  LossCounts losses;
  const std::string deep = "[" + std::string(1'000'000, '[');
  EXPECT_NE(Walk(deep, &losses).find("too deep"), std::string::npos);
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(Walk(nested(63), &losses), "?");
  EXPECT_NE(Walk(nested(64), &losses).find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace inferprobe::trex
