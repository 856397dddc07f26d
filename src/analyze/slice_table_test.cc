#include "analyze/slice_table.h"

#include <gtest/gtest.h>

#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::kNone;
using profile::SliceRow;

TEST(SliceTable, SlicesOfOneNameInsideTheSameOthersAreARow) {
  SyntheticProfile made;
  for (const int64_t ns : {100, 300}) {
    made.Enter(Category::kScope, "frame");
    made.Leaf(Category::kScope, "decode", ns);
    made.Leaf(Category::kScope, "decode", ns);
    made.Wait(50);
    made.Leave();
  }
  made.Leaf(Category::kScope, "decode", 7);
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "frame");
  EXPECT_EQ(rows[0].parent, kNone);
  EXPECT_EQ(rows[0].calls, 2U);
  EXPECT_EQ(rows[0].total_ns, 250 + 650);
  EXPECT_EQ(rows[0].self_ns, 100);
  EXPECT_EQ(rows[1].name, "decode");
  EXPECT_EQ(rows[1].parent, 0U);
  EXPECT_EQ(rows[1].depth, 1U);
  EXPECT_EQ(rows[1].calls, 4U);
  EXPECT_EQ(rows[1].min_ns, 100);
  EXPECT_EQ(rows[1].max_ns, 300);
  EXPECT_DOUBLE_EQ(*rows[1].mean_ns, 200);
  EXPECT_EQ(rows[2].parent, kNone);
  EXPECT_EQ(rows[2].total_ns, 7);
}

TEST(SliceTable, ChildrenMayComeBeforeTheirParents) {
  profile::Profile profile;
  profile.tracks.resize(1);
  profile.slices = {
      {.start_ns = 10, .dur_ns = 5, .name = profile.strings.Intern("inner"), .parent = 1},
      {.start_ns = 0, .dur_ns = 100, .name = profile.strings.Intern("outer")}};
  const std::vector<SliceRow> rows = SummarizeSlices(profile);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "outer");
  EXPECT_EQ(rows[0].self_ns, 95);
  EXPECT_EQ(rows[1].parent, 0U);
}

TEST(SliceTable, WithoutModulesScopesStandInWhatTheseAreIn) {
  SyntheticProfile made;
  made.Enter(Category::kScope, "request");
  made.Enter(Category::kModuleCall, "Net");
  made.Enter(Category::kOperator, "aten::conv2d");
  made.Leaf(Category::kScope, "mine", 30);
  made.Wait(100);
  made.Leave();
  made.Leave();
  made.Leaf(Category::kScope, "mine", 5);
  made.Leave();
  made.Enter(Category::kModuleCall, "Net");
  made.Leaf(Category::kScope, "mine", 7);
  made.Leave();
  EXPECT_EQ(SummarizeSlices(made.profile).size(), 7U);
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile, nullptr, {true});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "request");
  EXPECT_EQ(rows[0].total_ns, 135);
  EXPECT_EQ(rows[0].self_ns, 100);
  EXPECT_EQ(rows[1].name, "mine");
  EXPECT_EQ(rows[1].parent, 0U);
  EXPECT_EQ(rows[1].calls, 2U);
  EXPECT_EQ(rows[1].total_ns, 35);
  EXPECT_EQ(rows[2].parent, kNone);
  EXPECT_EQ(rows[2].total_ns, 7);
}

TEST(SliceTable, TracksAreApart) {
  SyntheticProfile made;
  made.OnOtherThread("work", 40);
  made.Leaf(Category::kScope, "work", 10);
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].total_ns, 10);
  EXPECT_EQ(rows[1].total_ns, 40);
}

TEST(SliceTable, TicksOfAnUnknownClockAreNoTimes) {
  SyntheticProfile made;
  made.profile.tracks[1].in_ticks = true;
  made.Enter(Category::kScope, "call");
  made.Reported("conv", 123456);
  made.Wait(10);
  made.Leave();
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "call");
}

TEST(SliceTable, AMeanUnderTenTicksIsBelowResolution) {
  SyntheticProfile made;
  made.profile.clock.tick_ns = 10;
  made.Leaf(Category::kScope, "short", 99);
  made.Leaf(Category::kScope, "long", 100);
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile);
  EXPECT_EQ(rows[0].mean_ns.missing().status, profile::Status::kBelowResolution);
  EXPECT_TRUE(rows[1].mean_ns);
}

TEST(SliceTable, ASumThatDoesNotFitHasNoMean) {
  SyntheticProfile made;
  for (int i = 0; i < 5; ++i) {
    made.OnOtherThread("long", int64_t{1} << 61);
    made.OnOtherThread("short", 1000);
  }
  const std::vector<SliceRow> rows = SummarizeSlices(made.profile);
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_FALSE(rows[0].mean_ns);
  EXPECT_EQ(rows[0].mean_ns.missing().status, profile::Status::kOverflow);
  EXPECT_GT(rows[0].total_ns, 0);
  EXPECT_EQ(*rows[1].mean_ns, 1000);
}

TEST(SliceTable, CountsSlicesThatAreShorterThanWhatIsInThem) {
  profile::Profile profile;
  profile.tracks.resize(2);
  profile.slices = {{.start_ns = 0, .dur_ns = 100},
                    {.start_ns = 0, .dur_ns = 60, .parent = 0},
                    {.start_ns = 40, .dur_ns = 60, .parent = 0},
                    {.start_ns = 200, .dur_ns = 100},
                    {.start_ns = 200, .dur_ns = 50, .parent = 3},
                    {.start_ns = 250, .dur_ns = 50, .parent = 3},
                    {.start_ns = 250, .dur_ns = 500, .parent = 3, .track = 1}};
  profile::LossCounts losses;
  const std::vector<SliceRow> rows = SummarizeSlices(profile, &losses);
  EXPECT_EQ(losses.Get(profile::Loss::kChildrenExceedParent), 1U);
  EXPECT_EQ(rows[0].self_ns, -20);
}

TEST(SliceTable, ACircleOfParentsEnds) {
  profile::Profile profile;
  profile.tracks.resize(1);
  profile.slices = {{.start_ns = 0, .dur_ns = 1, .parent = 1},
                    {.start_ns = 0, .dur_ns = 1, .parent = 0},
                    {.start_ns = 0, .dur_ns = 1, .parent = 2}};
  EXPECT_FALSE(SummarizeSlices(profile).empty());
}

}  // namespace
}  // namespace inferprobe::analyze
