#include "profile/delegate_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace inferprobe::profile {
namespace {

// A call from 1000 to 9000, and in it two reports, the later one first.
Recording Made(const std::string& delegate) {
  Recording recording;
  recording.source.path = "made.etdp";
  recording.profile.tracks.resize(2);
  Track& track = recording.profile.tracks[1];
  track.type = TrackType::kEngine;
  track.kind = Kind::kEngineReported;
  track.name = delegate + " (engine-reported, ticks of an unknown clock)";
  track.in_ticks = true;
  Slice late;
  late.start_ns = 400;
  late.dur_ns = 100;
  late.parent = 2;
  late.track = 1;
  Slice early = late;
  early.start_ns = 100;
  early.dur_ns = 300;
  Slice call;
  call.start_ns = 1000;
  call.dur_ns = 8000;
  recording.profile.slices = {late, early, call};
  return recording;
}

TEST(DelegateClock, LengthsAreTicksTimesTheTickFromTheCallsStart) {
  Recording recording = Made("DELEGATE_CALL@3");
  ASSERT_TRUE(ApplyDelegateClocks({{"DELEGATE_CALL@3", 2.5}}, &recording));
  const std::vector<Slice>& slices = recording.profile.slices;
  EXPECT_EQ(slices[1].start_ns, 1000);
  EXPECT_EQ(slices[1].dur_ns, 750);
  EXPECT_EQ(slices[0].start_ns, 1750);
  EXPECT_EQ(slices[0].dur_ns, 250);
  EXPECT_FALSE(recording.profile.tracks[1].in_ticks);
  EXPECT_EQ(recording.profile.tracks[1].tick_ns, 2.5);
  EXPECT_EQ(slices[2].dur_ns, 8000);
}

// A clock of the family changes many names; of an unknown one, nothing.
TEST(DelegateClock, ALargeFamilyIsScaledAtOnceAndAnErrorChangesNothing) {
  constexpr uint32_t kTracks = 20'000;
  Recording recording = Made("a long family name for a delegate@0");
  Profile& profile = recording.profile;
  const Slice report = profile.slices[0];
  for (uint32_t i = 1; i < kTracks; ++i) {
    profile.tracks.push_back(profile.tracks[1]);
    profile.tracks.back().name = "a long family name for a delegate@" + std::to_string(i);
    profile.slices.push_back(report);
    profile.slices.back().track = static_cast<uint16_t>(i + 1);
  }
  EXPECT_FALSE(
      ApplyDelegateClocks({{"a long family name for a delegate", 2}, {"none", 1}}, &recording));
  EXPECT_TRUE(profile.tracks[1].in_ticks);
  EXPECT_EQ(profile.slices.back().dur_ns, report.dur_ns);
  ASSERT_TRUE(ApplyDelegateClocks({{"a long family name for a delegate", 2}}, &recording));
  for (uint32_t i = 1; i <= kTracks; ++i) ASSERT_FALSE(profile.tracks[i].in_ticks);
  EXPECT_EQ(profile.slices.back().dur_ns, 2 * report.dur_ns);
}

TEST(DelegateClock, ANameFitsOneOrTheFamily) {
  for (const auto& [delegate, name] : {std::pair{"XnnpackBackend #1", "XnnpackBackend"},
                                       {"XnnpackBackend #1", "XnnpackBackend #1"},
                                       {"DELEGATE_CALL@3", "DELEGATE_CALL"},
                                       {"Npu (v2) #0", "Npu (v2)"}}) {
    Recording recording = Made(delegate);
    EXPECT_TRUE(ApplyDelegateClocks({{name, 1}}, &recording)) << delegate << " " << name;
  }
  for (const auto& [delegate, name] : {std::pair{"XnnpackBackend #1", "XnnpackBackend #0"},
                                       {"XnnpackBackend #1", "Xnnpack"},
                                       {"DELEGATE_CALL@3", "DELEGATE_CALL@"},
                                       {"DELEGATE_CALL@3", "@3"}}) {
    Recording recording = Made(delegate);
    const auto applied = ApplyDelegateClocks({{name, 1}}, &recording);
    ASSERT_FALSE(applied) << delegate << " " << name;
    EXPECT_EQ(applied.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(applied.error().hint.find(delegate), std::string::npos);
  }
}

TEST(DelegateClock, TwoClocksForOneDelegateAreRefused) {
  Recording recording = Made("DELEGATE_CALL@3");
  EXPECT_FALSE(ApplyDelegateClocks({{"DELEGATE_CALL", 1}, {"DELEGATE_CALL@3", 2}}, &recording));
}

TEST(DelegateClock, TimesThatAreNanosecondsAlreadyAreRefused) {
  Recording recording = Made("DELEGATE_CALL@3");
  recording.profile.tracks[1].in_ticks = false;
  const auto applied = ApplyDelegateClocks({{"DELEGATE_CALL@3", 2.5}}, &recording);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(applied.error().message.find("are in nanoseconds already"), std::string::npos)
      << applied.error().message;
  EXPECT_EQ(recording.profile.slices[0].dur_ns, 100);
}

struct Beyond {
  const char* what;
  int64_t start;
  int64_t dur;
};

// Never a length or a place that was made up: the report is not there, and its run is not whole.
TEST(DelegateClock, WhatNoClockHoldsIsLeftOutAndCounted) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const Beyond& it : {Beyond{"length", 400, kMost}, Beyond{"just too long", 400, 2'305'844},
                           Beyond{"start", kMost, 1}, Beyond{"start and length", kMost, kMost}}) {
    Recording recording = Made("DELEGATE_CALL@3");
    recording.profile.slices[0].start_ns = it.start;
    recording.profile.slices[0].dur_ns = it.dur;
    profile::Run run;
    run.slice_count = 3;
    recording.profile.runs = {run};
    ASSERT_TRUE(ApplyDelegateClocks({{"DELEGATE_CALL@3", 1e12}}, &recording)) << it.what;
    const Profile& profile = recording.profile;
    EXPECT_EQ(profile.losses.Get(Loss::kTimeOutOfRange), 1U) << it.what;
    ASSERT_EQ(profile.slices.size(), 2U) << it.what;
    EXPECT_EQ(profile.slices[0].dur_ns, 300'000'000'000'000) << it.what;
    EXPECT_EQ(profile.slices[0].start_ns, 1000) << it.what;
    EXPECT_EQ(profile.slices[0].parent, 1U) << it.what;
    EXPECT_TRUE(profile.runs[0].incomplete) << it.what;
    EXPECT_EQ(profile.runs[0].slice_count, 2U) << it.what;
  }
}

TEST(DelegateClock, TheLongestThatAClockHoldsStays) {
  Recording recording = Made("DELEGATE_CALL@3");
  recording.profile.slices[0].dur_ns = 2'305'843;
  ASSERT_TRUE(ApplyDelegateClocks({{"DELEGATE_CALL@3", 1e12}}, &recording));
  EXPECT_EQ(recording.profile.slices[0].dur_ns, 2'305'843'000'000'000'000);
}

}  // namespace
}  // namespace inferprobe::profile
