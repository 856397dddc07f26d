#include "report/source_text.h"

#include <gtest/gtest.h>

namespace inferprobe::report {
namespace {

std::string TextOf(const profile::SourceFacts& source, bool all = false) {
  Lines lines(/*color=*/false);
  AddSource(source, all, &lines);
  return lines.Take();
}

profile::SourceFacts Source() {
  profile::SourceFacts source;
  source.path = "x";
  source.title = "ETDump";
  source.bytes = 1234;
  return source;
}

TEST(SourceText, NamesTheFileItsKindAndItsSize) {
  EXPECT_EQ(TextOf(Source()), "file       x   ETDump · 1.23 kB\n");
}

TEST(SourceText, BlocksThatAreAlikeAreOneLine) {
  profile::SourceFacts source = Source();
  source.blocks = {{"Load", 1, 3}, {"Execute", 1000, 1}, {"", 1, 0}};
  EXPECT_EQ(TextOf(source),
            "file       x   ETDump · 1.23 kB\n"
            "blocks     Load: 3 events\n"
            "           1,000 × Execute: 1 event each\n"
            "           (unnamed): 0 events\n");
}

TEST(SourceText, ManyBlocksAreFoldedAndAddUp) {
  profile::SourceFacts source = Source();
  for (uint64_t i = 0; i < 15; ++i) source.blocks.push_back({"b" + std::to_string(i), 2, i});
  // The last three: 2 * (12 + 13 + 14) events.
  EXPECT_NE(TextOf(source).find("… 6 blocks more, 78 events: --all"), std::string::npos)
      << TextOf(source);
  EXPECT_EQ(TextOf(source, true).find("--all"), std::string::npos);
}

TEST(SourceText, PacketsThatWereNotReadAreListedTheMostFirst) {
  profile::SourceFacts source = Source();
  source.packets = {{"rare", 1}, {"ftrace_events", 70000}};
  EXPECT_NE(TextOf(source).find("not read   ftrace_events 70,000 · rare 1"), std::string::npos)
      << TextOf(source);
}

TEST(SourceText, ManyTypesOfPacketsAreFolded) {
  profile::SourceFacts source = Source();
  for (uint64_t i = 0; i < 10; ++i) source.packets.push_back({"t" + std::to_string(i), 10 - i});
  EXPECT_NE(TextOf(source).find("t7 3 · … 2 types more: --all"), std::string::npos)
      << TextOf(source);
  EXPECT_NE(TextOf(source, true).find("t9 1"), std::string::npos);
}

}  // namespace
}  // namespace inferprobe::report
