#include "profile/leave_out.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace inferprobe::profile {
namespace {

// Slices of one nanosecond at 0, 1, 2, ..., with these parents.
Profile Made(const std::vector<uint32_t>& parents) {
  Profile profile;
  profile.tracks.resize(1);
  for (const uint32_t parent : parents) {
    Slice slice;
    slice.start_ns = static_cast<int64_t>(profile.slices.size());
    slice.dur_ns = 1;
    slice.parent = parent;
    profile.slices.push_back(slice);
  }
  return profile;
}

Run RunOf(uint32_t first, uint32_t count) {
  Run run;
  run.first_slice = first;
  run.slice_count = count;
  return run;
}

TEST(LeaveOut, ParentsAndRunsMoveAlong) {
  // 3 is in 1, which is in 0; 2 is in 0; 5 is in 4.
  Profile profile = Made({kNone, 0, 0, 1, kNone, 4});
  profile.runs = {RunOf(0, 4), RunOf(4, 2)};
  LeaveOut({false, true, false, false, false, false}, Loss::kTimeOutOfRange, &profile);
  ASSERT_EQ(profile.slices.size(), 5U);
  std::vector<int64_t> starts;
  std::vector<uint32_t> parents;
  for (const Slice& slice : profile.slices) {
    starts.push_back(slice.start_ns);
    parents.push_back(slice.parent);
  }
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(parents, (std::vector<uint32_t>{kNone, 0, 0, kNone, 3}));
  EXPECT_EQ(profile.losses.Get(Loss::kTimeOutOfRange), 1U);
  EXPECT_EQ(profile.runs[0].first_slice, 0U);
  EXPECT_EQ(profile.runs[0].slice_count, 3U);
  EXPECT_TRUE(profile.runs[0].incomplete);
  EXPECT_EQ(profile.runs[0].why, Loss::kTimeOutOfRange);
  EXPECT_EQ(profile.runs[1].first_slice, 3U);
  EXPECT_EQ(profile.runs[1].slice_count, 2U);
  EXPECT_FALSE(profile.runs[1].incomplete);
}

TEST(LeaveOut, AllocationsMoveToWhatStays) {
  Profile profile = Made({kNone, 0, 1, kNone});
  for (const uint32_t slice : {0U, 1U, 2U, 3U, kNone, 99U}) {
    profile.allocations.push_back({0, 1, slice, false});
  }
  LeaveOut({false, true, false, true}, Loss::kTimeOutOfRange, &profile);
  std::vector<uint32_t> found;
  for (const Allocation& allocation : profile.allocations) found.push_back(allocation.slice);
  EXPECT_EQ(found, (std::vector<uint32_t>{0, 0, 1, kNone, kNone, kNone}));
}

TEST(LeaveOut, AnythingThatADamagedProfileMayHave) {
  Profile profile = Made({1, 0, 2, 1, 99, 4, kNone});
  profile.runs = {RunOf(5, 1000), RunOf(1000, 5)};
  LeaveOut({true, true, true, false, true, false, false}, Loss::kTimeOutOfRange, &profile);
  ASSERT_EQ(profile.slices.size(), 3U);
  for (const Slice& slice : profile.slices) EXPECT_EQ(slice.parent, kNone);
  EXPECT_EQ(profile.runs[0].first_slice, 1U);
  EXPECT_EQ(profile.runs[0].slice_count, 2U);
  EXPECT_EQ(profile.runs[1].slice_count, 0U);
}

// A hundred thousand that stay, in a chain of as many that go.
TEST(LeaveOut, ALongChainIsGoneThroughOnce) {
  constexpr uint32_t kChain = 100'000;
  std::vector<uint32_t> parents = {kNone};
  for (uint32_t i = 0; i < kChain; ++i) parents.push_back(i);
  for (uint32_t i = 0; i < kChain; ++i) parents.push_back(kChain);
  Profile profile = Made(parents);
  std::vector<bool> which(profile.slices.size());
  for (uint32_t i = 1; i <= kChain; ++i) which[i] = true;
  LeaveOut(which, Loss::kTimeOutOfRange, &profile);
  ASSERT_EQ(profile.slices.size(), kChain + 1);
  for (size_t i = 1; i < profile.slices.size(); ++i) ASSERT_EQ(profile.slices[i].parent, 0U);
}

}  // namespace
}  // namespace inferprobe::profile
