#include "report/table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace inferprobe::report {
namespace {

Table Example() {
  Table table({{"name", Align::kLeft, "", 12}, {"mean", Align::kRight, "mean_ns"}});
  table.AddRow({Cell::Text("plain"), Cell::Duration(12'345)});
  table.AddRow({Cell::Text("a | b, \"c\"\nd"), Cell::Duration(profile::Metric<double>(
                                                   profile::Status::kBelowResolution, "short"))});
  table.AddRow({Cell::Text("=1+1"), Cell::Number(0.1)});
  table.AddRow({Cell::Text("漢字"), Cell::Int(-12'345)});
  return table;
}

TEST(Table, AlignsByDisplayWidthAndCutsLongTexts) {
  EXPECT_EQ(Example().Render(Format::kTable, 2),
            "  name                            mean\n"
            "  plain                        12.3 us\n"
            "  a | b, \"c\"\\…  n/a (below resolution)\n"
            "  =1+1                             0.1\n"
            "  漢字                         -12,345\n");
}

TEST(Table, JsonKeepsNumbersAndReasons) {
  const auto rows = nlohmann::json::parse(Example().Render(Format::kJson));
  EXPECT_EQ(rows[0]["mean_ns"], 12345);
  EXPECT_EQ(rows[1]["name"], "a | b, \"c\"\nd");
  EXPECT_EQ(rows[1]["mean_ns"]["status"], "below_resolution");
  EXPECT_EQ(rows[2]["mean_ns"], 0.1);
}

TEST(Table, ListsAreListsInJsonAndOneTextElsewhere) {
  Table table({{"busy_ns"}});
  table.AddRow({Cell::Numbers({72'049.4, 871})});
  table.AddRow({Cell::Numbers({})});
  const auto rows = nlohmann::json::parse(table.Render(Format::kJson));
  EXPECT_EQ(rows[0]["busy_ns"], (std::vector<double>{72'049.4, 871}));
  EXPECT_EQ(rows[1]["busy_ns"], nlohmann::json::array());
  EXPECT_EQ(table.Render(Format::kCsv), "busy_ns\r\n72049 871\r\n\r\n");
  EXPECT_EQ(table.Render(Format::kTable), "busy_ns\n72049 871\n\n");
}

TEST(Table, CsvQuotesAndDisarmsFormulas) {
  EXPECT_EQ(Example().Render(Format::kCsv),
            "name,mean_ns\r\n"
            "plain,12345\r\n"
            "\"a | b, \"\"c\"\"\nd\",n/a (below resolution)\r\n"
            "'=1+1,0.1\r\n"
            "漢字,-12345\r\n");
}

TEST(Table, MarkdownEscapesItsSigns) {
  EXPECT_EQ(Example().Render(Format::kMarkdown),
            "| name | mean |\n|---|---:|\n| plain | 12.3 us |\n"
            "| a \\| b, \"c\"\\\\nd | n/a (below resolution) |\n"
            "| =1+1 | 0.1 |\n| 漢字 | -12,345 |\n");
}

TEST(Table, FormatsAreFoundByName) {
  EXPECT_EQ(ParseFormat("json"), Format::kJson);
  EXPECT_EQ(ParseFormat("csv"), Format::kCsv);
  EXPECT_EQ(ParseFormat("markdown"), Format::kMarkdown);
  EXPECT_EQ(ParseFormat("table"), Format::kTable);
}

}  // namespace
}  // namespace inferprobe::report
