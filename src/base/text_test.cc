#include "base/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace inferprobe::base {
namespace {

using namespace std::string_literals;

struct Utf8Case {
  const char* name;
  std::string text;
  size_t bad;
  std::string repaired;
};

const std::vector<Utf8Case>& Utf8Cases() {
  static const std::vector<Utf8Case> cases = {
      {"empty", "", 0, ""},
      {"ascii", "conv2d", 0, "conv2d"},
      {"zero_byte", "a\0b"s, 0, "a\0b"s},
      {"two_three_four_bytes", "é€😀", 0, "é€😀"},
      {"lone_continuation", "a\x80z", 1, "a\\x80z"},
      {"cut_sequence", "a\xe2\x82", 2, "a\\xE2\\x82"},
      {"cut_then_ascii", "\xf0\x9f\x98!", 3, "\\xF0\\x9F\\x98!"},
      {"overlong_slash", "\xc0\xaf", 2, "\\xC0\\xAF"},
      {"overlong_three", "\xe0\x80\xaf", 3, "\\xE0\\x80\\xAF"},
      {"overlong_four", "\xf0\x80\x80\xaf", 4, "\\xF0\\x80\\x80\\xAF"},
      {"surrogate", "\xed\xa0\x80", 3, "\\xED\\xA0\\x80"},
      {"last_code_point", "\xf4\x8f\xbf\xbf", 0, "\xf4\x8f\xbf\xbf"},
      {"above_last_code_point", "\xf4\x90\x80\x80", 4, "\\xF4\\x90\\x80\\x80"},
      {"five_byte_form", "\xf8\x88\x80\x80\x80", 5, "\\xF8\\x88\\x80\\x80\\x80"},
      {"fe_ff", "\xfe\xff", 2, "\\xFE\\xFF"},
  };
  return cases;
}

TEST(Utf8, BadBytesAreCountedAndShown) {
  for (const Utf8Case& c : Utf8Cases()) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CountInvalidUtf8(c.text), c.bad);
    EXPECT_EQ(RepairUtf8(c.text).text, c.repaired);
    EXPECT_EQ(RepairUtf8(c.text).bad_bytes, c.bad);
  }
}

TEST(Utf8, RepairOfAnyBytesIsValidAndCountsEachBadByteOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(round % 2 == 0 ? random() : 0x80 | (random() % 128));
    const RepairedText repaired = RepairUtf8(text);
    ASSERT_EQ(CountInvalidUtf8(repaired.text), 0U);
    ASSERT_EQ(repaired.bad_bytes, CountInvalidUtf8(text));
    ASSERT_EQ(repaired.text.size(), text.size() + 3 * repaired.bad_bytes);
  }
}

TEST(TerminalText, NothingInItMovesTheCursorOrTheDirection) {
  EXPECT_EQ(TerminalText("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(TerminalText("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(TerminalText("\u202egnp.exe"), "\\u202egnp.exe");
  EXPECT_EQ(TerminalText("\u2066x\u2069"), "\\u2066x\\u2069");
  EXPECT_EQ(TerminalText("\xc2\x9b"), "\\x9b");  // C1: an escape sequence in one character
  EXPECT_EQ(TerminalText("\xff"), "\\xFF");
  EXPECT_EQ(TerminalText("naïve 模型"), "naïve 模型");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("naïve"), 5U);
  EXPECT_EQ(DisplayWidth("模型"), 4U);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);
}

TEST(CutToWidth, NeverCutsACharacterOrExceedsTheWidth) {
  EXPECT_EQ(CutToWidth("abc", 3), "abc");
  EXPECT_EQ(CutToWidth("abcd", 3), "ab…");
  EXPECT_EQ(CutToWidth("模型模型", 5), "模型…");
  const std::string text = "aé模😀e\u0301z模型";
  for (size_t columns = 1; columns < 20; ++columns) {
    const std::string cut = CutToWidth(text, columns);
    EXPECT_LE(DisplayWidth(cut), columns);
    EXPECT_EQ(CountInvalidUtf8(cut), 0U);
  }
}

TEST(Figures, DurationsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatDurationNs(0), "0 ns");
  EXPECT_EQ(FormatDurationNs(8.3), "8.30 ns");
  EXPECT_EQ(FormatDurationNs(8300), "8.30 us");
  EXPECT_EQ(FormatDurationNs(412'000), "412 us");
  EXPECT_EQ(FormatDurationNs(1'230'000), "1.23 ms");
  EXPECT_EQ(FormatDurationNs(1.2e9), "1.20 s");
  EXPECT_EQ(FormatDurationNs(-8300), "-8.30 us");
}

// 999.6 of a unit would round to four digits; the next unit takes over before that.
TEST(Figures, RoundingNeverGivesAThousandOfAUnit) {
  for (const double size : {999.4, 999.6, 99'940.0, 99'960.0, 999'499.0, 999'501.0, 999.6e6}) {
    EXPECT_EQ(FormatDurationNs(size).find("1000"), std::string::npos) << FormatDurationNs(size);
    EXPECT_EQ(FormatBytes(size).find("1000"), std::string::npos) << FormatBytes(size);
  }
}

TEST(Figures, BytesCountsAndShares) {
  EXPECT_EQ(FormatBytes(653'712), "654 kB");
  EXPECT_EQ(FormatBytes(12), "12 B");
  EXPECT_EQ(FormatCount(5050), "5,050");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000'000), "1,000,000");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
  EXPECT_EQ(FormatCount(-0.2), "0");
  EXPECT_EQ(FormatPercent(0.9344), "93.4 %");
}

TEST(HashText, IsFnv1a) {
  EXPECT_EQ(HashText(""), 0xcbf29ce484222325U);
  EXPECT_EQ(HashText("a"), 0xaf63dc4c8601ec8cU);
}

}  // namespace
}  // namespace inferprobe::base
