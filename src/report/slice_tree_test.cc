#include "report/slice_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace inferprobe::report {
namespace {

using profile::kNone;
using profile::PerfResult;
using profile::SliceRow;

class Rows {
 public:
  uint32_t Add(std::string name, int64_t total_ns, uint32_t parent = kNone,
               std::string track = "main") {
    SliceRow row;
    row.id = static_cast<uint32_t>(result.slices.size());
    row.parent = parent;
    row.depth = parent == kNone ? 0 : result.slices[parent].depth + 1;
    row.track = std::move(track);
    row.name = std::move(name);
    row.calls = 2;
    row.total_ns = total_ns;
    row.self_ns = total_ns;
    row.min_ns = row.max_ns = total_ns / 2;
    row.mean_ns = static_cast<double>(total_ns) / 2;
    result.slices.push_back(row);
    return row.id;
  }
  PerfResult result;
};

size_t CountLines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(SliceTree, IsATreeForEachTrack) {
  Rows rows;
  const uint32_t outer = rows.Add("outer", 4000);
  const uint32_t first = rows.Add("first", 3000, outer);
  rows.Add("inner", 1000, first);
  rows.Add("second", 1000, outer);
  rows.Add("other", 2000, kNone, "worker");
  EXPECT_EQ(SliceTree(rows.result, {}),
            "\n"
            "main (host wall, the whole recording)\n"
            "    total     mean      min      max  calls  what\n"
            "  4.00 us  2.00 us  2.00 us  2.00 us      2  outer\n"
            "  3.00 us  1.50 us  1.50 us  1.50 us      2  ├─ first\n"
            "  1.00 us   500 ns   500 ns   500 ns      2  │  └─ inner\n"
            "  1.00 us   500 ns   500 ns   500 ns      2  └─ second\n"
            "\n"
            "worker (host wall, the whole recording)\n"
            "    total     mean      min      max  calls  what\n"
            "  2.00 us  1.00 us  1.00 us  1.00 us      2  other\n");
}

TEST(SliceTree, OfManyTracksThoseWithTheMostAreShown) {
  Rows rows;
  for (int i = 0; i < 1'000; ++i) {
    rows.Add("slice", i == 500 ? 1'000'000 : 1'000 - i, kNone, "track " + std::to_string(i));
  }
  const std::string text = SliceTree(rows.result, {});
  EXPECT_EQ(CountLines(text), 20u * 4 + 2);
  EXPECT_NE(text.find("\ntrack 0 ("), std::string::npos);
  EXPECT_NE(text.find("\ntrack 18 ("), std::string::npos);
  EXPECT_NE(text.find("\ntrack 500 ("), std::string::npos);
  EXPECT_EQ(text.find("\ntrack 19 ("), std::string::npos);
  EXPECT_NE(text.find("\n… and 980 more tracks with less in them: --all\n"), std::string::npos);
  PerfTextOptions all;
  all.all_rows = true;
  EXPECT_EQ(CountLines(SliceTree(rows.result, all)), 1'000u * 4);
}

TEST(SliceTree, OfNothingIsNothing) { EXPECT_EQ(SliceTree({}, {}), ""); }

TEST(SliceTree, ManySiblingsAreFoldedTheSmallestFirst) {
  Rows rows;
  for (int64_t i = 0; i < 30; ++i) rows.Add("row " + std::to_string(i), 1000 + i);
  const std::string text = SliceTree(rows.result, {});
  EXPECT_NE(text.find("… 10 smaller rows: --all"), std::string::npos) << text;
  EXPECT_EQ(text.find("row 9\n"), std::string::npos);
  EXPECT_NE(text.find("row 10\n"), std::string::npos);
  EXPECT_NE(SliceTree(rows.result, {.all_rows = true}).find("row 9\n"), std::string::npos);
}

// A table of a recursion without end would have lines as long as it is deep.
TEST(SliceTree, IsCutWhereItIsTooDeep) {
  Rows rows;
  uint32_t parent = kNone;
  for (int64_t i = 0; i < 5000; ++i) parent = rows.Add("deep", 10'000 - i, parent);
  const std::string all = SliceTree(rows.result, {.all_rows = true});
  EXPECT_LT(CountLines(all), 40U);
  EXPECT_NE(all.find("… 1 rows and what is below them"), std::string::npos) << all;
  for (const size_t width : {40U, 80U, 100U, 200U}) {
    const std::string folded = SliceTree(rows.result, {.width = width});
    EXPECT_NE(folded.find("… 1 deeper: --all"), std::string::npos) << folded;
  }
}

TEST(SliceTree, NamesAreSafeOnATerminal) {
  Rows rows;
  rows.Add("a\x1b[31m\n", 1000, kNone, "t\x1b[1m");
  rows.Add("", 1000, kNone, "t\x1b[1m");
  const std::string text = SliceTree(rows.result, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("(unnamed)"), std::string::npos);
}

TEST(SliceTable, HasWhatMachinesNeed) {
  Rows rows;
  rows.Add("b", 1000, rows.Add("a", 3000));
  EXPECT_EQ(SliceTable(rows.result).Render(Format::kCsv),
            "id,parent,track,kind,name,calls,total_ns,self_ns,mean_ns,min_ns,max_ns\r\n"
            "0,n/a (unavailable),main,host_wall,a,2,3000,3000,1500,1500,1500\r\n"
            "1,0,main,host_wall,b,2,1000,1000,500,500,500\r\n");
}

}  // namespace
}  // namespace inferprobe::report
