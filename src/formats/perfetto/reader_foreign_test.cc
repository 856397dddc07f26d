// Traces of other tools, one rule after another: which slices there are, and on which tracks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/trace_maker.h"

namespace inferprobe::perfetto {
namespace {

using profile::Loss;
using profile::Recording;
using protozero::pbf_builder;

TEST(PerfettoForeign, SlicesNestByTheirTrack) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "a")
                             .Named(78, "b")
                             .Begin(10, "outer")
                             .Begin(20, "inner")
                             .Begin(25, "other", 78)
                             .End(30)
                             .End(40)
                             .End(50, 78)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"a: outer 10+30", "a: inner 20+10 < outer", "b: other 25+25"}));
  EXPECT_EQ(Lost(read, Loss::kUnbalancedEnd), 0u);
  EXPECT_EQ(read.profile.runs.size(), 0u);
}

TEST(PerfettoForeign, TheFileNeedNotBeInOrderOfTime) {
  const Recording read = TraceMaker()
                             .Begin(20, "inner")
                             .End(30)
                             .Begin(10, "outer")
                             .End(40)
                             .Named(kTrack, "late")
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"late: outer 10+30", "late: inner 20+10 < outer"}));
}

TEST(PerfettoForeign, AtEqualTimesTheOrderOfTheFileCounts) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t")
                             .Begin(10, "a")
                             .Begin(10, "b")
                             .End(10)
                             .End(20)
                             .Begin(20, "c")
                             .End(20)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t: a 10+10", "t: b 10+0 < a", "t: c 20+0"}));
}

TEST(PerfettoForeign, AnEndWithoutBeginIsCounted) {
  const Recording read =
      TraceMaker().Named(kTrack, "t").End(5).Begin(10, "a").End(20).End(30).Read();
  EXPECT_EQ(Lines(read), Strings{"t: a 10+10"});
  EXPECT_EQ(Lost(read, Loss::kUnbalancedEnd), 2u);
}

TEST(PerfettoForeign, WhatNeverEndsIsLeftOutAndItsContentMovesUp) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t")
                             .Named(78, "u")
                             .Begin(5, "open", 78)
                             .Begin(10, "in open", 78)
                             .End(20, 78)
                             .Begin(30, "open, too", 78)
                             .Begin(1, "whole")
                             .End(2)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t: whole 1+1", "u: in open 10+10"}));
  EXPECT_EQ(Lost(read, Loss::kUnfinishedSlice), 2u);
}

TEST(PerfettoForeign, WhatIsInsideALostSliceIsInWhatThatOneIsIn) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t")
                             .Begin(1, "outer")
                             .AddEvent({.time = 2, .iid = 99})
                             .Begin(3, "inner")
                             .End(4)
                             .End(5)
                             .End(6)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t: outer 1+5", "t: inner 3+1 < outer"}));
  EXPECT_EQ(Lost(read, Loss::kLostState), 1u);
}

TEST(PerfettoForeign, ThreadsProcessesAndTheirTracks) {
  TraceMaker trace;
  trace.Add([](Packet& packet) {
    pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
    track.add_uint64(TrackDescriptor::kUuid, 1);
    pbf_builder<ProcessDescriptor> process{track, TrackDescriptor::kProcess};
    process.add_int32(ProcessDescriptor::kPid, 42);
    process.add_string(ProcessDescriptor::kProcessName, "app");
  });
  trace.Thread(2, 42, 43, "main")
      .Named(3, "async", 1)
      .Named(4, "deeper", 3)
      .Thread(5, 42, 44, nullptr);
  for (uint64_t uuid = 1; uuid <= 6; ++uuid) trace.Begin(uuid, "x", uuid).End(uuid + 100, uuid);
  const Recording read = trace.Read();
  Strings tracks;
  for (const profile::Track& track : read.profile.tracks) {
    tracks.push_back(fmt::format("{} {} {}", track.name, track.pid, track.tid));
  }
  EXPECT_EQ(tracks, (Strings{"app 42 0", "main 42 43", "async 42 0", "deeper 42 0",
                             "thread 44 42 44", "track 0x6 0 0"}));
  EXPECT_EQ(read.profile.process_name, "app");
}

TEST(PerfettoForeign, TwoDescriptionsOfAThreadAreOneTrack) {
  const Recording read = TraceMaker()
                             .Thread(5, 1, 2, "t")
                             .Thread(6, 1, 2, "t")
                             .Begin(10, "outer", 5)
                             .Begin(20, "inner", 6)
                             .End(30, 6)
                             .End(40, 5)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t: outer 10+30", "t: inner 20+10 < outer"}));
}

TEST(PerfettoForeign, CyclesOfParentsEnd) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "a", 78)
                             .Named(78, "b", kTrack)
                             .Named(79, "c", 79)
                             .Begin(1, "x")
                             .End(2)
                             .Begin(3, "y", 79)
                             .End(4, 79)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"a: x 1+1", "c: y 3+1"}));
}

TEST(PerfettoForeign, ADescriptionMayComeTwice) {
  const Recording read =
      TraceMaker().Named(kTrack, "old").Begin(1, "x").Named(kTrack, "new").End(2).Read();
  EXPECT_EQ(Lines(read), Strings{"new: x 1+1"});
}

struct OverlapCase {
  const char* what;
  TraceMaker trace;
  Strings lines;
  uint64_t overlaps;
};

TEST(PerfettoForeign, SlicesThatOverlapAreInNeither) {
  const std::vector<OverlapCase> cases = {
      {"complete events",
       TraceMaker().Complete(0, "A", 10).Complete(5'000, "B", 10).Complete(7'000, "C", 100),
       {"t: A 0+10000", "t: B 5000+10000", "t: C 7000+100000"},
       2},
      {"what holds both holds both",
       TraceMaker().Complete(0, "P", 50).Complete(1'000, "A", 10).Complete(5'000, "B", 10),
       {"t: P 0+50000", "t: A 1000+10000 < P", "t: B 5000+10000 < P"},
       1},
      {"what lies in both is in the later one",
       TraceMaker().Complete(0, "A", 10).Complete(5'000, "B", 10).Complete(6'000, "C", 2),
       {"t: A 0+10000", "t: B 5000+10000", "t: C 6000+2000 < B"},
       1},
      {"those that follow or nest do not overlap",
       TraceMaker().Complete(0, "A", 10).Complete(0, "B", 10).Complete(10'000, "C", 1),
       {"t: A 0+10000", "t: B 0+10000 < A", "t: C 10000+1000"},
       0},
      {"a complete event that reaches beyond a begun slice",
       TraceMaker().Begin(0, "A").Complete(5'000, "B", 10).Complete(6'000, "C", 1).End(8'000),
       {"t: A 0+8000", "t: B 5000+10000", "t: C 6000+1000 < B"},
       1},
      {"a begun slice that reaches beyond complete ones",
       TraceMaker()
           .Complete(0, "P", 50)
           .Complete(0, "A", 10)
           .Complete(1'000, "B", 8)
           .Begin(5'000, "C")
           .Complete(6'000, "D", 1)
           .End(20'000),
       {"t: P 0+50000", "t: A 0+10000 < P", "t: B 1000+8000 < A", "t: C 5000+15000 < P",
        "t: D 6000+1000 < C"},
       1},
  };
  for (const OverlapCase& each : cases) {
    TraceMaker trace = each.trace;
    const Recording read = trace.Named(kTrack, "t").Read();
    EXPECT_EQ(Lines(read), each.lines) << each.what;
    EXPECT_EQ(Lost(read, Loss::kOverlap), each.overlaps) << each.what;
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
