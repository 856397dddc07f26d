#include "analyze/sum_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "analyze/slice_table.h"
#include "profile/sum_note.h"

namespace inferprobe::analyze {
namespace {

class SumTable : public testing::Test {
 protected:
  SumTable() {
    for (const char* name : {"one", "two"}) {
      profile::Track& track = profile_.tracks.emplace_back();
      track.name = name;
      track.type = profile::TrackType::kEngine;
      track.kind = profile::Kind::kEngineReported;
    }
  }
  void Add(uint16_t track, uint64_t calls, int64_t total_ns, std::optional<double> median_ns,
           std::string_view name = "conv", std::optional<int64_t> error_ns = {}) {
    profile::SumNote note;
    note.error_ns = error_ns;
    note.calls = calls;
    note.total_ns = total_ns;
    note.median_ns = median_ns;
    profile::SliceArgs args;
    args.metadata = static_cast<uint32_t>(profile_.metadata.size());
    profile_.metadata.push_back(profile::WriteSumNote(note));
    profile::Slice& slice = profile_.slices.emplace_back();
    slice.name = profile_.strings.Intern(name);
    slice.track = track;
    slice.dur_ns = 1;  // for drawing: it is in no figure
    slice.args = profile_.AddArgs(args);
  }
  profile::Profile profile_;
};

TEST_F(SumTable, ASumIsARowAlsoWhereNamesAreAlike) {
  Add(0, 3, 600, 190);
  Add(0, 3, 200, {});
  Add(0, 0, 0, {});
  Add(1, 1, 50, {});
  const auto rows = SummarizeSums(profile_);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].track, "one");
  EXPECT_EQ(rows[0].name, "conv");
  EXPECT_EQ(rows[0].calls, 3U);
  EXPECT_EQ(rows[0].total_ns, 600);
  EXPECT_DOUBLE_EQ(*rows[0].mean_ns, 200);
  EXPECT_DOUBLE_EQ(*rows[0].p50_ns, 190);
  EXPECT_DOUBLE_EQ(*rows[0].share, 0.75);
  EXPECT_DOUBLE_EQ(*rows[1].share, 0.25);
  EXPECT_EQ(rows[1].p50_ns.missing().status, profile::Status::kUnavailable);
  EXPECT_EQ(rows[2].mean_ns.missing().hint, "no samples");
  EXPECT_DOUBLE_EQ(*rows[3].share, 1) << "of its own track";
  EXPECT_TRUE(SummarizeSlices(profile_).empty()) << "they are no slices of a length";
}

TEST_F(SumTable, WhatHasNoSumHasNoShare) {
  Add(0, 0, 0, {});
  Add(1, 1, std::numeric_limits<int64_t>::max(), {});
  Add(1, 1, 1, {});
  const auto rows = SummarizeSums(profile_);
  EXPECT_EQ(rows[0].share.missing().status, profile::Status::kTooFewSamples);
  EXPECT_EQ(rows[1].share.missing().status, profile::Status::kOverflow);
  EXPECT_EQ(rows[2].share.missing().status, profile::Status::kOverflow);
}

TEST_F(SumTable, PhasesHaveSharesOfTheWholeCallThatContainsThem) {
  Add(0, 1, 600, {}, "x.infer_host");
  Add(0, 1, 1000, {}, "x.delegate");
  Add(0, 1, 500, {}, "x.layer_report");
  Add(0, 1, 900, {}, "other");
  const auto rows = SummarizeSums(profile_);
  EXPECT_DOUBLE_EQ(*rows[0].share, 0.6);
  EXPECT_EQ(rows[1].share.missing().status, profile::Status::kUnavailable);
  EXPECT_EQ(rows[2].share.missing().status, profile::Status::kUnavailable);
  EXPECT_DOUBLE_EQ(*rows[3].share, 0.3);
}

TEST_F(SumTable, AMeanWithinItsErrorIsBelowResolution) {
  Add(0, 10, 10'710, 1071, "a", 1071);
  Add(0, 10, 10'720, 1072, "b", 1071);
  const auto rows = SummarizeSums(profile_);
  ASSERT_FALSE(rows[0].mean_ns);
  EXPECT_EQ(rows[0].mean_ns.missing().status, profile::Status::kBelowResolution);
  EXPECT_EQ(rows[0].p50_ns.missing().status, profile::Status::kBelowResolution);
  EXPECT_EQ(rows[0].error_ns, 1071);
  EXPECT_DOUBLE_EQ(*rows[1].mean_ns, 1072);
  EXPECT_TRUE(rows[1].p50_ns);
}

}  // namespace
}  // namespace inferprobe::analyze
