#include "formats/perfetto/lanes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::LossCounts;
using profile::Profile;

struct In {
  const char* name;
  int64_t start;
  int64_t end;
  uint32_t parent = kNone;
};

// Begins as "name(", ends as ")"; another lane than the first with its number: "name@1(" ")@1".
// At equal times the lanes stand in the order in which they came to be.
std::string Text(const Profile& profile, const LanePlanner& planner,
                 const std::vector<SliceEdge>& edges) {
  std::string text;
  for (const SliceEdge& edge : edges) {
    const uint32_t ordinal = planner.lanes()[edge.lane].ordinal;
    const std::string lane = ordinal == 0 ? "" : fmt::format("@{}", ordinal);
    if (edge.begin) {
      text += fmt::format("{}{}(", profile.Name(profile.slices[edge.slice]), lane);
    } else {
      text += ")" + lane;
    }
  }
  return text;
}

struct Placed {
  std::string text;
  uint64_t moved = 0;
  uint64_t ends_before_starts = 0;
  uint64_t out_of_range = 0;
};

// Places `slices` on one track in calls of the given sizes (none: in one call).
Placed Place(const std::vector<In>& slices, const std::vector<uint32_t>& calls = {}) {
  formats::ProfileBuilder build;
  const uint16_t track = build.AddThread("t", 1, 1);
  for (const In& in : slices) {
    build.Add(track, in.name, Category::kScope, in.start, in.end - in.start, in.parent);
  }
  LanePlanner planner;
  LossCounts losses;
  Placed placed;
  uint32_t first = 0;
  const auto sizes =
      calls.empty() ? std::vector<uint32_t>{static_cast<uint32_t>(slices.size())} : calls;
  for (const uint32_t size : sizes) {
    if (first > 0) placed.text += " | ";
    placed.text += Text(build.profile, planner, planner.Place(build.profile, first, size, losses));
    first += size;
  }
  placed.moved = losses.Get(Loss::kOverlapMoved);
  placed.ends_before_starts = losses.Get(Loss::kEndBeforeStart);
  placed.out_of_range = losses.Get(Loss::kTimeOutOfRange);
  return placed;
}

TEST(Lanes, FollowsAndNests) {
  EXPECT_EQ(Place({{"a", 0, 9}, {"b", 1, 3, 0}, {"c", 3, 5, 0}, {"d", 9, 10}}).text,
            "a(b()c())d()");
}

TEST(Lanes, ParentsAreFoundAlsoWhenTheyStandLater) {
  EXPECT_EQ(Place({{"inner", 0, 9, 1}, {"outer", 0, 9}}).text, "outer(inner())");
}

TEST(Lanes, ParentDecidesWhereASliceWithoutLengthBelongs) {
  const In ends = {"ends", 0, 5};
  const In starts = {"starts", 5, 9};
  EXPECT_EQ(Place({ends, starts, {"z", 5, 5, 0}}).text, "ends(z())starts()");
  EXPECT_EQ(Place({ends, starts, {"z", 5, 5, 1}}).text, "ends()starts(z())");
  EXPECT_EQ(Place({ends, starts, {"z", 5, 5}}).text, "ends()z()starts()");
  EXPECT_EQ(Place({ends, starts, {"in", 5, 5, 1}, {"out", 5, 5}, {"last", 5, 5, 0}}).text,
            "ends(last())out()starts(in())");
}

TEST(Lanes, SlicesWithoutLengthNest) {
  EXPECT_EQ(Place({{"b", 5, 5, 1}, {"a", 5, 5}, {"c", 5, 5, 0}, {"d", 5, 5}}).text, "a(b(c()))d()");
}

TEST(Lanes, TimesNestWhereNoParentIsKnown) {
  EXPECT_EQ(Place({{"b", 0, 4}, {"a", 0, 9}, {"c", 8, 9}}).text, "a(b()c())");
}

TEST(Lanes, OverlapMovesTheLaterOneAndItsChildren) {
  const Placed placed = Place({{"a", 0, 6}, {"b", 4, 9}, {"c", 5, 6, 1}, {"d", 9, 10}});
  EXPECT_EQ(placed.text, "a(b@1(c@1())@1d()@1)");
  EXPECT_EQ(placed.moved, 1u);
}

TEST(Lanes, ManyOverlapsTakeManyLanes) {
  const Placed placed = Place({{"a", 0, 6}, {"b", 1, 7}, {"c", 2, 8}, {"d", 6, 8}});
  EXPECT_EQ(placed.text, "a(b@1(c@2()d()@1))@2");
  EXPECT_EQ(placed.moved, 2u);
}

TEST(Lanes, TwinsUnderOneParentOverlap) {
  const Placed placed = Place({{"p", 0, 9}, {"a", 1, 3, 0}, {"b", 1, 3, 0}});
  EXPECT_EQ(placed.text, "p(a(b@1())@1)");
  EXPECT_EQ(placed.moved, 1u);
}

TEST(Lanes, LateParentEnclosesWhatWasWritten) {
  EXPECT_EQ(Place({{"a", 1, 3}, {"b", 4, 6}, {"p", 0, 6}, {"c", 6, 7}}, {2, 1, 1}).text,
            "a()b() | p() | c()");
  EXPECT_EQ(Place({{"a", 1, 3}, {"b", 4, 6}, {"p", 0, 6}}, {2, 1}).moved, 0u);
  // And a later one that encloses that one.
  EXPECT_EQ(Place({{"a", 2, 3}, {"p", 1, 3}, {"q", 0, 3}}, {1, 1, 1}).moved, 0u);
}

TEST(Lanes, LateSliceThatWouldBendWhatWasWrittenMoves) {
  EXPECT_EQ(Place({{"a", 1, 3}, {"late", 2, 5}}, {1, 1}).text, "a() | late@1()@1");
  EXPECT_EQ(Place({{"a", 1, 3}, {"late", 0, 2}}, {1, 1}).moved, 1u);
  // The begin of "a" stands earlier in the file: "late" would become its child.
  EXPECT_EQ(Place({{"a", 1, 3}, {"late", 1, 5}}, {1, 1}).moved, 1u);
  EXPECT_EQ(Place({{"a", 5, 9}, {"late", 1, 5}}, {1, 1}).moved, 1u);
  EXPECT_EQ(Place({{"a", 0, 9}, {"late", 2, 3}}, {1, 1}).moved, 1u);
  EXPECT_EQ(Place({{"a", 0, 3}, {"b", 6, 9}, {"late", 3, 5}}, {2, 1}).moved, 0u);
}

TEST(Lanes, LeavesOutAndCountsWhatHasNoPlaceInTime) {
  constexpr int64_t kMax = INT64_MAX;
  formats::ProfileBuilder build;
  const uint16_t track = build.AddThread("t", 1, 1);
  build.Add(track, "negative", Category::kScope, -5, 10);
  build.Add(track, "backwards", Category::kScope, 10, -1);
  build.Add(track, "beyond", Category::kScope, kMax - 1, 2);
  build.Add(track, "last", Category::kScope, kMax - 1, 1);
  build.Add(track, "child of the lost", Category::kScope, kMax - 1, 0, 2);
  LanePlanner planner;
  LossCounts losses;
  EXPECT_EQ(Text(build.profile, planner, planner.Place(build.profile, 0, 5, losses)),
            "child of the lost()last()");
  EXPECT_EQ(losses.Get(Loss::kTimeOutOfRange), 2u);
  EXPECT_EQ(losses.Get(Loss::kEndBeforeStart), 1u);
}

TEST(Lanes, BrokenParentsDoNoHarm) {
  // A cycle, itself, one that is not there, one that ends too early.
  const Placed placed =
      Place({{"a", 0, 5, 1}, {"b", 0, 5, 0}, {"c", 5, 6, 2}, {"d", 6, 7, 99}, {"e", 7, 8, 0}});
  EXPECT_EQ(std::count(placed.text.begin(), placed.text.end(), '('), 5);
}

}  // namespace
}  // namespace inferprobe::perfetto
