#include "profile/operator_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace inferprobe::profile {
namespace {

constexpr int64_t kPid = 7;
constexpr int64_t kThread = 70;

// Slices as a ring gives them, and what a profiler adds to them.
class OperatorImportTest : public testing::Test {
 protected:
  OperatorImportTest() { AddThread(kThread); }

  uint16_t AddThread(int64_t tid) {
    Track track;
    track.name = "thread";
    track.pid = kPid;
    track.tid = tid;
    profile_.tracks.push_back(track);
    return static_cast<uint16_t>(profile_.tracks.size() - 1);
  }
  uint32_t Put(Category category, std::string_view name, int64_t start, int64_t end,
               uint32_t parent = kNone, uint16_t track = 0) {
    Slice slice;
    slice.start_ns = start;
    slice.dur_ns = end - start;
    slice.name = profile_.strings.Intern(name);
    slice.parent = parent;
    slice.track = track;
    slice.category = category;
    profile_.slices.push_back(slice);
    return static_cast<uint32_t>(profile_.slices.size() - 1);
  }
  uint32_t Module(std::string_view name, int64_t start, int64_t end, uint32_t parent = kNone) {
    return Put(Category::kModuleCall, name, start, end, parent);
  }
  void Operator(std::string_view name, int64_t start, int64_t end, int64_t tid = kThread) {
    import_.AddOperator({start, end, profile_.strings.Intern(name), tid});
  }
  [[nodiscard]] const Slice& Named(std::string_view name) const {
    for (const Slice& slice : profile_.slices) {
      if (profile_.Name(slice) == name) return slice;
    }
    static const Slice none;
    ADD_FAILURE() << "no slice " << name;
    return none;
  }
  [[nodiscard]] std::string NameOf(uint32_t slice) const {
    return slice == kNone ? "" : std::string(profile_.Name(profile_.slices[slice]));
  }
  // "start-end in parent"
  [[nodiscard]] std::string Text(std::string_view name) const {
    const Slice& slice = Named(name);
    return std::to_string(slice.start_ns) + "-" + std::to_string(slice.start_ns + slice.dur_ns) +
           " in " + NameOf(slice.parent);
  }
  [[nodiscard]] uint64_t Lost(Loss loss) const { return profile_.losses.Get(loss); }

  // What holds for any input: a child is inside its parent, children of one parent do not overlap.
  void ExpectNested() const {
    std::map<uint32_t, std::vector<uint32_t>> children;
    for (uint32_t i = 0; i < profile_.slices.size(); ++i) {
      const Slice& slice = profile_.slices[i];
      if (slice.category == Category::kDeviceWork) continue;
      ASSERT_GE(slice.dur_ns, 0);
      children[slice.parent].push_back(i);
      if (slice.parent == kNone) continue;
      const Slice& parent = profile_.slices[slice.parent];
      ASSERT_EQ(parent.track, slice.track);
      ASSERT_LE(parent.start_ns, slice.start_ns) << NameOf(i);
      ASSERT_GE(parent.start_ns + parent.dur_ns, slice.start_ns + slice.dur_ns) << NameOf(i);
    }
    for (auto& [parent, list] : children) {
      std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
        const Slice& one = profile_.slices[a];
        const Slice& other = profile_.slices[b];
        return std::tuple(one.track, one.start_ns, one.dur_ns) <
               std::tuple(other.track, other.start_ns, other.dur_ns);
      });
      for (size_t i = 1; i < list.size(); ++i) {
        const Slice& before = profile_.slices[list[i - 1]];
        const Slice& after = profile_.slices[list[i]];
        if (before.track != after.track) continue;
        ASSERT_LE(before.start_ns + before.dur_ns, after.start_ns)
            << NameOf(list[i - 1]) << " and " << NameOf(list[i]) << " in " << NameOf(parent);
      }
    }
  }

  Profile profile_;
  OperatorImport import_{&profile_, kPid};
};

struct PlaceCase {
  std::string name;
  // Modules: A is around B where both are given.
  int64_t a_start, a_end, b_start, b_end;
  int64_t start, end;
  std::string operator_text, b_text;
  uint64_t cut = 0;
  std::string a_parent{};
};

class PlaceOfAnOperator : public OperatorImportTest,
                          public testing::WithParamInterface<PlaceCase> {};

TEST_P(PlaceOfAnOperator, IsFoundByItsTime) {
  const PlaceCase& one = GetParam();
  Module("B", one.b_start, one.b_end, 1);
  Module("A", one.a_start, one.a_end);
  Operator("op", one.start, one.end);
  import_.Finish(0);
  EXPECT_EQ(Text("op"), one.operator_text);
  EXPECT_EQ(Text("B"), one.b_text);
  EXPECT_EQ(NameOf(Named("A").parent), one.a_parent);
  EXPECT_EQ(Lost(Loss::kOperatorCut), one.cut);
  ExpectNested();
}

const PlaceCase kPlaces[] = {
    {"inside", 0, 100, 20, 80, 30, 40, "30-40 in B", "20-80 in A"},
    {"beside", 0, 100, 20, 80, 85, 90, "85-90 in A", "20-80 in A"},
    {"touching", 0, 100, 20, 80, 80, 90, "80-90 in A", "20-80 in A"},
    {"outside", 0, 100, 20, 80, 110, 120, "110-120 in ", "20-80 in A"},
    {"between", 0, 100, 20, 80, 10, 90, "10-90 in A", "20-80 in op"},
    {"around both", 100, 300, 150, 200, 90, 310, "90-310 in ", "150-200 in A", 0, "op"},
    {"equal times", 0, 100, 20, 80, 20, 80, "20-80 in B", "20-80 in A"},
    {"equal to the outer", 0, 100, 20, 80, 0, 100, "0-100 in A", "20-80 in op"},
    {"one equal end: only around nests", 0, 100, 20, 80, 20, 90, "20-90 in A", "20-80 in op"},
    {"one equal end: only inside nests", 0, 100, 20, 80, 20, 70, "20-70 in B", "20-80 in A"},
    {"ends too late", 0, 100, 20, 80, 30, 85, "30-80 in B", "20-80 in A", 1},
    {"starts too early", 0, 100, 20, 80, 15, 60, "20-60 in B", "20-80 in A", 1},
    {"starts before the one before ended", 0, 100, 20, 80, 78, 95, "80-95 in A", "20-80 in A", 1},
    {"ends after the next began", 0, 100, 20, 80, 5, 23, "5-20 in A", "20-80 in A", 1},
    {"out of both", 0, 100, 20, 80, 30, 104, "30-80 in B", "20-80 in A", 1},
    {"out of the outer, around the inner", 0, 100, 20, 80, 10, 104, "10-100 in A", "20-80 in op",
     1},
    {"no time, inside", 0, 100, 20, 80, 30, 30, "30-30 in B", "20-80 in A"},
    {"no time, at the end", 0, 100, 20, 80, 80, 80, "80-80 in A", "20-80 in A"},
};
INSTANTIATE_TEST_SUITE_P(All, PlaceOfAnOperator, testing::ValuesIn(kPlaces));

TEST_F(OperatorImportTest, OperatorsNestAlsoWhenTheParentIsGivenLater) {
  Operator("inner", 20, 30);
  Operator("same, inner", 40, 50);
  Operator("outer", 10, 60);
  Operator("same, innermost", 40, 50);
  import_.Finish(0);
  EXPECT_EQ(Text("outer"), "10-60 in ");
  EXPECT_EQ(Text("inner"), "20-30 in outer");
  EXPECT_EQ(Text("same, inner"), "40-50 in outer");
  EXPECT_EQ(Text("same, innermost"), "40-50 in same, inner");
  EXPECT_EQ(Lost(Loss::kOperatorCut), 0U);
}

TEST_F(OperatorImportTest, WhatIsInAnOperatorFollowsItWhenItIsCut) {
  Module("first", 0, 100);
  Operator("linear", 95, 200);
  Operator("t", 96, 97);  // by its own time it would be in `first`
  Operator("addmm", 98, 190);
  Operator("copy", 99, 100);
  import_.Finish(0);
  EXPECT_EQ(Text("linear"), "100-200 in ");
  EXPECT_EQ(Text("t"), "100-100 in linear");
  EXPECT_EQ(Text("addmm"), "100-190 in linear");
  EXPECT_EQ(Text("copy"), "100-100 in addmm");
  EXPECT_EQ(Lost(Loss::kOperatorCut), 4U);
  ExpectNested();
}

TEST_F(OperatorImportTest, OperatorsThatOverlapAreCutToEachOther) {
  Operator("first", 0, 100);
  Operator("second", 50, 150);
  import_.Finish(0);
  EXPECT_EQ(Text("first"), "0-100 in ");
  EXPECT_EQ(Text("second"), "50-100 in first");
  EXPECT_EQ(Lost(Loss::kOperatorCut), 1U);
}

// A checkpoint or an autograd function calls modules, which call operators.
TEST_F(OperatorImportTest, ModulesInsideAnOperator) {
  Module("inner", 300, 400, 2);
  Module("inner2", 410, 500, 2);
  Module("root", 0, 1000);
  Operator("Checkpoint", 100, 900);
  Operator("aten::mul", 310, 390);
  Operator("aten::add", 600, 700);
  import_.Finish(0);
  EXPECT_EQ(Text("Checkpoint"), "100-900 in root");
  EXPECT_EQ(Text("inner"), "300-400 in Checkpoint");
  EXPECT_EQ(Text("inner2"), "410-500 in Checkpoint");
  EXPECT_EQ(Text("aten::mul"), "310-390 in inner");
  EXPECT_EQ(Text("aten::add"), "600-700 in Checkpoint");
}

TEST_F(OperatorImportTest, OtherSlicesOfTheThreadNestToo) {
  const uint32_t regions = AddThread(0);
  profile_.tracks[regions].type = TrackType::kRegions;
  Put(Category::kScope, "scope", 20, 80, 1);
  Module("module", 10, 90, 2);
  Put(Category::kRun, "run", 0, 100);
  Put(Category::kRegion, "loop", 15, 95, 0, static_cast<uint16_t>(regions));
  Operator("in scope", 30, 40);
  Operator("around scope", 15, 85);
  Operator("in run", 92, 95);
  import_.Finish(0);
  EXPECT_EQ(Text("in scope"), "30-40 in scope");
  EXPECT_EQ(Text("scope"), "20-80 in around scope");
  EXPECT_EQ(Text("around scope"), "15-85 in module");
  EXPECT_EQ(Text("module"), "10-90 in run");
  EXPECT_EQ(Text("in run"), "92-95 in run");
  EXPECT_EQ(Text("loop"), "15-95 in scope");
}

TEST_F(OperatorImportTest, ThreadsHaveTracksOfTheirOwn) {
  Module("module", 0, 100);
  Operator("here", 10, 20);
  Operator("there", 10, 20, 71);
  Operator("there, inside", 12, 18, 71);
  Operator("below zero", 10, 20, -1);
  import_.Finish(0);
  EXPECT_EQ(Text("here"), "10-20 in module");
  EXPECT_EQ(Text("there"), "10-20 in ");
  EXPECT_EQ(Text("there, inside"), "12-18 in there");
  ASSERT_EQ(profile_.tracks.size(), 3U);
  const Track& track = profile_.tracks[Named("there").track];
  EXPECT_EQ(track.type, TrackType::kThread);
  EXPECT_EQ(track.kind, Kind::kHostWall);
  EXPECT_EQ(track.pid, kPid);
  EXPECT_EQ(track.tid, 71);
  EXPECT_EQ(track.name, "thread 71");
  EXPECT_EQ(Named("here").track, 0);

  Operator("later", 110, 120, 71);
  import_.Finish(static_cast<uint32_t>(profile_.slices.size()));
  EXPECT_EQ(Named("later").track, Named("there").track);
  EXPECT_EQ(profile_.tracks.size(), 3U);
}

// The system gives a thread's number again: what ran on both is on the track of its module.
TEST_F(OperatorImportTest, AThreadNumberThatIsUsedAgain) {
  const uint16_t second = AddThread(kThread);
  Module("old", 0, 100);
  Put(Category::kModuleCall, "new", 200, 300, kNone, second);
  Operator("in new", 210, 220);
  Operator("inside", 12, 15);
  Operator("in old", 10, 20);
  import_.Finish(0);
  EXPECT_EQ(Text("in old"), "10-20 in old");
  EXPECT_EQ(Named("in old").track, 0);
  EXPECT_EQ(Named("inside").track, 0);
  EXPECT_EQ(Named("in new").track, second);
}

TEST_F(OperatorImportTest, ImpossibleTimesAreLeftOutAndCounted) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Module("module", 0, 100);
  Operator("ends first", 20, 10);
  Operator("too late", 20, kLatestNs + 1);
  Operator("negative", -5, 10);
  import_.SkipOperator();
  Operator("good", 20, 30);
  import_.AddAllocation({kMost, 1, kThread, false});
  import_.AddDeviceWork({30, 20, 0, 0, 0});
  import_.AddDeviceWork({20, 30, profile_.strings.Intern("kernel"), 0, 5});
  import_.AddDeviceWork({20, 30, profile_.strings.Intern("orphan"), 0, 1});
  import_.Finish(0);
  EXPECT_EQ(Lost(Loss::kOperatorsUnplaced), 5U);
  EXPECT_EQ(profile_.slices.size(), 4U);
  EXPECT_TRUE(profile_.allocations.empty());
  EXPECT_EQ(Text("kernel"), "20-30 in good");  // the fifth, whatever became of those before
  EXPECT_EQ(Text("orphan"), "20-30 in ");
}

TEST_F(OperatorImportTest, DeviceWorkIsOnTheTrackOfItsStream) {
  Operator("launch", 0, 10);
  for (const uint32_t stream : {7U, 13U, 7U}) {
    import_.AddDeviceWork({100, 200, profile_.strings.Intern("kernel"), stream, 1});
  }
  import_.AddDeviceWork({100, 200, profile_.strings.Intern("unknown"), 7, 0});
  import_.AddDeviceWork({100, 200, profile_.strings.Intern("unknown"), 7, 9});
  import_.Finish(0);
  ASSERT_EQ(profile_.tracks.size(), 3U);
  EXPECT_EQ(profile_.tracks[1].name, "stream 7 (device)");
  EXPECT_EQ(profile_.tracks[1].kind, Kind::kDevice);
  EXPECT_EQ(profile_.tracks[1].type, TrackType::kEngine);
  EXPECT_EQ(profile_.tracks[2].name, "stream 13 (device)");
  ASSERT_EQ(profile_.slices.size(), 6U);
  const uint16_t tracks[] = {0, 1, 2, 1, 1, 1};
  const uint32_t parents[] = {kNone, 0, 0, 0, kNone, kNone};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(profile_.slices[i].track, tracks[i]) << i;
    EXPECT_EQ(profile_.slices[i].parent, parents[i]) << i;
  }
}

TEST_F(OperatorImportTest, AllocationsAreOfWhatIsAroundThem) {
  Put(Category::kScope, "scope", 60, 70, 1);
  Module("module", 0, 100);
  Operator("outer", 10, 50);
  Operator("empty", 20, 30);
  struct Case {
    int64_t time_ns;
    int64_t tid;
    std::string owner;
  };
  const Case cases[] = {{25, kThread, "empty"},  {35, kThread, "outer"},
                        {30, kThread, "empty"},  {50, kThread, "outer"},
                        {65, kThread, "module"}, {5, kThread, "module"},
                        {150, kThread, ""},      {25, 71, ""}};
  for (const Case& one : cases) import_.AddAllocation({one.time_ns, -8, one.tid, true});
  import_.Finish(0);
  ASSERT_EQ(profile_.allocations.size(), std::size(cases));
  for (size_t i = 0; i < std::size(cases); ++i) {
    const Allocation& allocation = profile_.allocations[i];
    EXPECT_EQ(NameOf(allocation.slice), cases[i].owner) << i;
    EXPECT_EQ(allocation.time_ns, cases[i].time_ns);
    EXPECT_EQ(allocation.bytes, -8);
    EXPECT_TRUE(allocation.device);
  }
}

// By the profiler's own clock, as its operators: also where these were cut.
TEST_F(OperatorImportTest, AnAllocationStaysInItsOperator) {
  Module("first", 0, 100);
  Operator("linear", 90, 200);
  import_.AddAllocation({95, 64, kThread, false});
  import_.Finish(0);
  EXPECT_EQ(Text("linear"), "100-200 in ");
  EXPECT_EQ(NameOf(profile_.allocations[0].slice), "linear");
}

TEST_F(OperatorImportTest, EarlierSlicesStayAsTheyAre) {
  Module("earlier", 0, 1000);
  const uint32_t first = Module("module", 1000, 2000);
  profile_.slices[first].parent = 0;  // damaged, and not ours to mend
  Operator("op", 500, 600);
  import_.Finish(first);
  EXPECT_EQ(Text("op"), "500-600 in ");
  EXPECT_EQ(Text("module"), "1000-2000 in earlier");
}

TEST_F(OperatorImportTest, ModulesThatOverlapInPart) {
  Module("first", 0, 100);
  Module("second", 50, 150, 0);
  Operator("op", 110, 120);
  Operator("in first", 60, 70);
  import_.Finish(0);
  EXPECT_EQ(Text("first"), "0-100 in ");
  EXPECT_EQ(Text("second"), "50-150 in ");
  EXPECT_EQ(Text("op"), "110-120 in ");
  EXPECT_EQ(Text("in first"), "60-70 in first");
  EXPECT_EQ(Lost(Loss::kOverlap), 1U);
}

TEST_F(OperatorImportTest, EqualModulesStayInTheOrderThatIsKnown) {
  // As a ring has them, and the other way round.
  Module("inner", 0, 10, 1);
  Module("outer", 0, 10);
  Module("outer 2", 20, 30);
  Module("inner 2", 20, 30, 2);
  Module("empty", 30, 30, 2);
  Module("circle", 40, 50, 6);
  Module("circle 2", 40, 50, 5);
  Module("unknown", 60, 70);  // what is inside comes first
  Module("unknown 2", 60, 70);
  Operator("op", 0, 10);
  import_.Finish(0);
  EXPECT_EQ(Text("unknown"), "60-70 in unknown 2");
  EXPECT_EQ(Text("inner"), "0-10 in outer");
  EXPECT_EQ(Text("op"), "0-10 in inner");
  EXPECT_EQ(Text("inner 2"), "20-30 in outer 2");
  EXPECT_EQ(Text("empty"), "30-30 in outer 2");
  ExpectNested();
}

// A random tree of modules and operators on one thread, the operators seen by a clock that is off
// by a constant: where that is less than the gaps, the tree is found again.
class RandomTree : public OperatorImportTest {
 protected:
  struct Node {
    std::string name;
    std::string parent;
  };

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  uint32_t Make(int64_t gap, int64_t skew, bool is_module, int depth, const std::string& parent) {
    const std::string name = (is_module ? "m" : "o") + std::to_string(++count_);
    truth_.push_back({name, parent});
    const int64_t start = now_ += gap;
    std::vector<uint32_t> modules;
    for (int64_t i = depth == 0 ? 0 : Between(0, 4); i > 0; --i) {
      const uint32_t child = Make(gap, skew, Between(0, 1) == 0, depth - 1, name);
      if (child != kNone) modules.push_back(child);
    }
    now_ += gap;
    if (!is_module) {
      Operator(name, start + skew, now_ + skew);
      // Modules inside: what is around them by their ids is not this operator, but what is beyond.
      for (const uint32_t module : modules) orphans_.push_back(module);
      return kNone;
    }
    const uint32_t index = Module(name, start, now_);
    for (const uint32_t module : modules) profile_.slices[module].parent = index;
    for (const uint32_t orphan : orphans_) profile_.slices[orphan].parent = index;
    orphans_.clear();
    return index;
  }

  std::mt19937_64 random_{11};
  std::vector<Node> truth_;
  std::vector<uint32_t> orphans_;
  int64_t now_ = 0;
  int count_ = 0;
};

TEST_F(RandomTree, IsFoundAgainThroughTheDoubtOfTwoClocks) {
  for (int round = 0; round < 300; ++round) {
    const auto first = static_cast<uint32_t>(profile_.slices.size());
    truth_.clear();
    const int64_t gap = Between(10, 1000);
    const int64_t skew = Between(-gap / 2 + 1, gap / 2 - 1);
    Make(gap, skew, true, 5, "");
    import_.Finish(first);
    std::map<std::string, std::string> found;
    for (uint32_t i = first; i < profile_.slices.size(); ++i) {
      found[NameOf(i)] = NameOf(profile_.slices[i].parent);
    }
    ASSERT_EQ(found.size(), truth_.size());
    for (const Node& node : truth_) {
      ASSERT_EQ(found[node.name], node.parent) << node.name << " in round " << round;
    }
  }
  EXPECT_EQ(Lost(Loss::kOverlap), 0U);
  ExpectNested();
}

// With more doubt than that: whatever becomes of the operators, modules keep their times and all
// nests. Self times, which are what children leave, are then never negative.
TEST_F(RandomTree, NestsWhateverTheClocksSay) {
  for (int round = 0; round < 300; ++round) {
    const auto first = static_cast<uint32_t>(profile_.slices.size());
    const int64_t gap = Between(0, 20);
    now_ += 10'000;
    Make(gap, Between(-5 * gap - 1, 5 * gap + 1), true, 5, "");
    for (int64_t i = Between(0, 20); i > 0; --i) {  // and what no profiler says
      const int64_t start = Between(std::max<int64_t>(now_ - 1000, 0), now_ + 100);
      Operator("wild", start, start + Between(0, 300));
    }
    std::vector<Slice> before(profile_.slices.begin() + first, profile_.slices.end());
    import_.Finish(first);
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(profile_.slices[first + i].start_ns, before[i].start_ns);
      ASSERT_EQ(profile_.slices[first + i].dur_ns, before[i].dur_ns);
    }
  }
  ASSERT_NO_FATAL_FAILURE(ExpectNested());
  EXPECT_GT(Lost(Loss::kOperatorCut), 100U);
}

// Deep and wide at once: 200,000 modules in each other, and as many operators inside and around.
TEST_F(OperatorImportTest, DeepNestingIsNotQuadratic) {
  constexpr int64_t kDeep = 200'000;
  for (int64_t i = 0; i < kDeep; ++i) {
    Module("m", 1'000'000 - 3 * i - 3, 1'000'000 + 3 * i + 3, static_cast<uint32_t>(i + 1));
  }
  for (int64_t i = 0; i < kDeep; ++i) {
    Operator("around", 1'000'000 - 3 * i - 1, 1'000'000 + 3 * i + 1);
    Operator("partly", 1'000'000, 1'000'001 + i);
    import_.AddAllocation({1'000'000 - 3 * i, 1, kThread, false});
  }
  import_.Finish(0);
  EXPECT_EQ(profile_.slices.size(), 3U * kDeep);
  const Slice& innermost = profile_.slices[0];
  EXPECT_NE(innermost.parent, kNone);
}

}  // namespace
}  // namespace inferprobe::profile
