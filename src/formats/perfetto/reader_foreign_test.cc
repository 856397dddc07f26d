// Traces of other tools, one rule after another, in packets made by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/inflate.h"
#include "formats/perfetto/reader.h"

// Work is counted in allocations, not in seconds.
namespace {
size_t g_allocations = 0;
}
// Not inlined: GCC would see malloc's memory go to delete, and warn.
[[gnu::noinline]] void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
// As std::stable_sort asks; a sanitizer's own would not fit the delete below.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace inferprobe::perfetto {
namespace {

using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Recording;
using profile::Slice;
using profile::TrackType;
using protozero::pbf_builder;

constexpr uint64_t kTrack = 77;

// packet(...) { ... } of one TracePacket after another.
class TraceMaker {
 public:
  using Packet = pbf_builder<TracePacket>;
  template <typename Fill>
  TraceMaker& Add(Fill fill) {
    pbf_builder<Trace> trace{bytes_};
    Packet packet{trace, Trace::kPacket};
    fill(packet);
    return *this;
  }

  struct Event {
    int32_t type = kSliceBegin;
    uint64_t time = 0;
    const char* name = nullptr;
    uint64_t iid = 0;
    uint64_t track = kTrack;
    uint32_t sequence = 1;
    uint32_t clock = 0;
    uint32_t flags = 0;
  };
  TraceMaker& AddEvent(const Event& event) {
    return Add([&](Packet& packet) {
      packet.add_uint64(TracePacket::kTimestamp, event.time);
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, event.sequence);
      if (event.clock != 0) packet.add_uint32(TracePacket::kTimestampClockId, event.clock);
      if (event.flags != 0) packet.add_uint32(TracePacket::kSequenceFlags, event.flags);
      pbf_builder<TrackEvent> track{packet, TracePacket::kTrackEvent};
      track.add_enum(TrackEvent::kType, event.type);
      if (event.track != 0) track.add_uint64(TrackEvent::kTrackUuid, event.track);
      if (event.name != nullptr) track.add_string(TrackEvent::kName, event.name);
      if (event.iid != 0) track.add_uint64(TrackEvent::kNameIid, event.iid);
    });
  }
  TraceMaker& Begin(uint64_t time, const char* name, uint64_t track = kTrack) {
    return AddEvent({.time = time, .name = name, .track = track});
  }
  TraceMaker& End(uint64_t time, uint64_t track = kTrack) {
    return AddEvent({.type = kSliceEnd, .time = time, .track = track});
  }
  TraceMaker& Named(uint64_t uuid, const char* name, uint64_t parent = 0) {
    return Add([&](Packet& packet) {
      pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, uuid);
      if (parent != 0) track.add_uint64(TrackDescriptor::kParentUuid, parent);
      if (name != nullptr) track.add_string(TrackDescriptor::kName, name);
    });
  }
  TraceMaker& Thread(uint64_t uuid, int32_t pid, int64_t tid, const char* name) {
    return Add([&](Packet& packet) {
      pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, uuid);
      pbf_builder<ThreadDescriptor> thread{track, TrackDescriptor::kThread};
      thread.add_int32(ThreadDescriptor::kPid, pid);
      thread.add_int64(ThreadDescriptor::kTid, tid);
      if (name != nullptr) thread.add_string(ThreadDescriptor::kThreadName, name);
    });
  }
  struct Reading {
    uint32_t clock;
    uint64_t time;
    bool incremental = false;
    uint64_t multiplier = 0;
  };
  TraceMaker& Snapshot(const std::vector<Reading>& clocks, int32_t primary = 0,
                       uint32_t sequence = 1) {
    return Add([&](Packet& packet) {
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, sequence);
      pbf_builder<ClockSnapshot> snapshot{packet, TracePacket::kClockSnapshot};
      for (const Reading& reading : clocks) {
        pbf_builder<Clock> clock{snapshot, ClockSnapshot::kClocks};
        clock.add_uint32(Clock::kClockId, reading.clock);
        clock.add_uint64(Clock::kTimestamp, reading.time);
        if (reading.incremental) clock.add_bool(Clock::kIsIncremental, true);
        if (reading.multiplier != 0) clock.add_uint64(Clock::kUnitMultiplierNs, reading.multiplier);
      }
      if (primary != 0) snapshot.add_enum(ClockSnapshot::kPrimaryTraceClock, primary);
    });
  }
  TraceMaker& Raw(std::string_view packet) {
    pbf_builder<Trace> trace{bytes_};
    trace.add_message(Trace::kPacket, packet.data(), packet.size());
    return *this;
  }
  TraceMaker& Bytes(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] Recording Read() const {
    auto recording = ReadTraceBytes(bytes_, "made.pftrace", {});
    EXPECT_TRUE(recording.has_value()) << recording.error().message;
    return recording ? std::move(*recording) : Recording();
  }

 private:
  std::string bytes_;
};

using Packet = TraceMaker::Packet;
using Strings = std::vector<std::string>;

// "track: name start+length < parent", in the order of the model.
Strings Lines(const Recording& recording) {
  const Profile& profile = recording.profile;
  Strings lines;
  for (const Slice& slice : profile.slices) {
    std::string line = fmt::format("{}: {} {}+{}", profile.tracks.at(slice.track).name,
                                   profile.Name(slice), slice.start_ns, slice.dur_ns);
    if (slice.parent != kNone) {
      line += fmt::format(" < {}", profile.Name(profile.slices.at(slice.parent)));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Strings Counters(const Recording& recording) {
  Strings lines;
  for (const profile::CounterSample& sample : recording.profile.counters) {
    const profile::Track& track = recording.profile.tracks.at(sample.track);
    lines.push_back(
        fmt::format("{} {}: {}@{}", track.name, track.unit, sample.value, sample.time_ns));
  }
  return lines;
}

uint64_t Lost(const Recording& recording, Loss loss) { return recording.profile.losses.Get(loss); }

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

TEST(PerfettoForeign, NamesByNumber) {
  TraceMaker trace;
  const auto intern = [&](uint64_t iid, const char* text, uint32_t flags) {
    trace.Add([&](Packet& packet) {
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
      packet.add_uint32(TracePacket::kSequenceFlags, flags);
      pbf_builder<InternedData> data{packet, TracePacket::kInternedData};
      pbf_builder<InternedEntry> entry{data, InternedData::kEventNames};
      entry.add_uint64(InternedEntry::kIid, iid);
      entry.add_string(InternedEntry::kText, text);
    });
  };
  const auto slice = [&](uint64_t at, uint64_t iid, uint32_t sequence) {
    trace.AddEvent({.time = at, .iid = iid, .sequence = sequence, .flags = kNeedsIncrementalState});
    trace.AddEvent({.type = kSliceEnd, .time = at + 1, .sequence = sequence});
  };
  trace.Named(kTrack, "t");
  slice(1, 9, 1);  // nothing was cleared yet; its end remains
  intern(9, "nine", kIncrementalStateCleared);
  slice(11, 9, 1);
  slice(21, 9, 2);  // another sequence
  slice(31, 8, 1);  // never said
  intern(8, "eight", kIncrementalStateCleared);
  slice(41, 9, 1);  // said before it was cleared
  slice(51, 8, 1);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), (Strings{"t: nine 11+1", "t: eight 51+1"}));
  EXPECT_EQ(Lost(read, Loss::kLostState), 4u);
  EXPECT_EQ(Lost(read, Loss::kUnbalancedEnd), 2u);
}

TEST(PerfettoForeign, DroppedPacketsVoidTheNumbers) {
  TraceMaker trace;
  trace.Named(kTrack, "t");
  const auto slice = [&](uint64_t at) {
    trace.AddEvent({.time = at, .name = "x", .flags = kNeedsIncrementalState});
    trace.AddEvent({.type = kSliceEnd, .time = at + 1, .flags = kNeedsIncrementalState});
  };
  const auto flagged = [&](auto add) {
    trace.Add([&](Packet& packet) {
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
      add(packet);
    });
  };
  flagged([](Packet& p) { p.add_bool(TracePacket::kIncrementalStateCleared, true); });
  slice(1);
  flagged([](Packet& p) { p.add_uint32(TracePacket::kPreviousPacketDropped, 1); });
  slice(11);
  flagged([](Packet& p) { p.add_uint32(TracePacket::kSequenceFlags, kIncrementalStateCleared); });
  slice(21);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), (Strings{"t: x 1+1", "t: x 21+1"}));
  EXPECT_EQ(Lost(read, Loss::kLostState), 2u);
}

TEST(PerfettoForeign, DefaultsOfASequence) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Snapshot({{6, 1'000}, {3, 100}});
  trace.Add([](Packet& packet) {
    packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
    pbf_builder<TracePacketDefaults> defaults{packet, TracePacket::kTracePacketDefaults};
    defaults.add_uint32(TracePacketDefaults::kTimestampClockId, 3);
    pbf_builder<TrackEventDefaults> event{defaults, TracePacketDefaults::kTrackEventDefaults};
    event.add_uint64(TrackEventDefaults::kTrackUuid, kTrack);
  });
  trace.AddEvent({.time = 110, .name = "x", .track = 0});
  trace.AddEvent({.type = kSliceEnd, .time = 120, .track = 0});
  EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1010+10"});
}

TEST(PerfettoForeign, ClocksLeadToTheMainOne) {
  TraceMaker trace;
  trace.Named(kTrack, "t");
  trace.Snapshot({{6, 10'000}, {3, 1'000}, {1, 5'000'000}});
  trace.Snapshot({{3, 2'000}, {64, 7, false, 1'000}});  // 64 by way of 3
  trace.Snapshot({{6, 30'000}, {65, 30'000, true, 0}, {66, 4, true, 10}});
  const auto slice = [&](uint32_t clock, uint64_t begin, uint64_t end, const char* name) {
    trace.AddEvent({.time = begin, .name = name, .clock = clock});
    trace.AddEvent({.type = kSliceEnd, .time = end, .clock = clock});
  };
  slice(3, 1'500, 1'600, "monotonic");
  slice(1, 5'000'700, 5'000'800, "realtime");
  slice(64, 8, 9, "scaled");
  slice(65, 5, 5, "incremental");
  slice(66, 7, 1, "incremental and scaled");
  slice(6, 40'000, 40'001, "boottime");
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), (Strings{"t: monotonic 10500+100", "t: realtime 10700+100",
                                  "t: scaled 12000+1000", "t: incremental 30005+5",
                                  "t: incremental and scaled 30070+10", "t: boottime 40000+1"}));
  EXPECT_EQ(read.profile.clock.boottime_minus_monotonic_ns, 9'000);
  EXPECT_EQ(read.profile.clock.realtime_minus_monotonic_ns, 4'999'000);
}

TEST(PerfettoForeign, ThePrimaryClockIsTheMainOne) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Snapshot({{6, 10'000}, {3, 1'000}}, 3);
  trace.AddEvent({.time = 10'500, .name = "x", .clock = 6});
  trace.AddEvent({.type = kSliceEnd, .time = 1'600, .clock = 3});
  EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1500+100"});
}

TEST(PerfettoForeign, ClocksOfASequenceAreItsOwn) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Snapshot({{6, 10'000}, {64, 0}}, 0, 1);
  trace.AddEvent({.time = 5, .name = "x", .sequence = 2, .clock = 64});
  trace.AddEvent({.time = 5, .name = "y", .clock = 200});
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings());
  EXPECT_EQ(Lost(read, Loss::kUnknownClock), 2u);
}

TEST(PerfettoForeign, TimesBeyond63BitsAreCounted) {
  TraceMaker trace;
  trace.Named(kTrack, "t")
      .Snapshot({{6, 10}, {3, 1'000}, {64, UINT64_MAX}, {65, 9, true, 1ULL << 62}});
  trace.Begin(UINT64_MAX, "x").Begin(1ULL << 63, "y");
  trace.AddEvent({.time = 3, .name = "before zero", .clock = 3});
  trace.AddEvent({.time = UINT64_MAX, .name = "overflows", .clock = 65});
  trace.Begin(9'223'372'036'854'775'806U, "19 digits").End(9'223'372'036'854'775'807U);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: 19 digits 9223372036854775806+1"});
  EXPECT_EQ(Lost(read, Loss::kTimeOutOfRange), 3u);
  EXPECT_EQ(Lost(read, Loss::kUnknownClock), 1u);  // 65 has no reading that is a time
}

struct CounterTrack {
  uint64_t uuid;
  const char* name;
  int32_t unit = 0;
  const char* unit_name = nullptr;
  int64_t multiplier = 0;
  bool incremental = false;
};
void AddCounterTrack(TraceMaker& trace, const CounterTrack& wanted) {
  trace.Add([&](Packet& packet) {
    packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
    pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
    track.add_uint64(TrackDescriptor::kUuid, wanted.uuid);
    track.add_string(TrackDescriptor::kName, wanted.name);
    pbf_builder<CounterDescriptor> counter{track, TrackDescriptor::kCounter};
    if (wanted.unit != 0) counter.add_enum(CounterDescriptor::kUnit, wanted.unit);
    if (wanted.unit_name != nullptr) {
      counter.add_string(CounterDescriptor::kUnitName, wanted.unit_name);
    }
    if (wanted.multiplier != 0) {
      counter.add_int64(CounterDescriptor::kUnitMultiplier, wanted.multiplier);
    }
    if (wanted.incremental) counter.add_bool(CounterDescriptor::kIsIncremental, true);
  });
}
void AddSample(TraceMaker& trace, uint64_t time, uint64_t uuid, double number, bool whole,
               uint32_t sequence = 1, uint32_t flags = 0) {
  trace.Add([&](Packet& packet) {
    packet.add_uint64(TracePacket::kTimestamp, time);
    packet.add_uint32(TracePacket::kTrustedPacketSequenceId, sequence);
    if (flags != 0) packet.add_uint32(TracePacket::kSequenceFlags, flags);
    pbf_builder<TrackEvent> event{packet, TracePacket::kTrackEvent};
    event.add_enum(TrackEvent::kType, kCounter);
    event.add_uint64(TrackEvent::kTrackUuid, uuid);
    if (whole) {
      event.add_int64(TrackEvent::kCounterValue, static_cast<int64_t>(number));
    } else {
      event.add_double(TrackEvent::kDoubleCounterValue, number);
    }
  });
}

TEST(PerfettoForeign, CountersInTheirUnits) {
  TraceMaker trace;
  AddCounterTrack(trace, {1, "heat", 0, "degC"});
  AddCounterTrack(trace, {2, "memory", 3, nullptr, 1024});
  AddCounterTrack(trace, {3, "sum", 2, nullptr, 10, true});
  AddSample(trace, 2, 1, 40.5, false);
  AddSample(trace, 1, 2, -3, true);
  AddSample(trace, 3, 3, 4, true);
  AddSample(trace, 4, 3, 1, true);
  AddSample(trace, 5, 3, 1, true, 2);  // of another sequence: a difference to nothing
  AddSample(trace, 6, 3, 2, true, 1, kIncrementalStateCleared);
  const Recording read = trace.Read();
  EXPECT_EQ(Counters(read), (Strings{"memory bytes: -3072@1", "heat degC: 40.5@2",
                                     "sum count: 40@3", "sum count: 50@4", "sum count: 20@6"}));
  EXPECT_EQ(Lost(read, Loss::kLostState), 1u);
  EXPECT_EQ(read.profile.tracks.at(0).type, TrackType::kCounter);
}

TEST(PerfettoForeign, WhatIsNotReadIsCountedByType) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x").End(2);
  trace.AddEvent({.type = kInstant, .time = 1, .name = "i"});
  trace.AddEvent({.type = kInstant, .time = 2, .name = "i"});
  trace.AddEvent({.type = 5, .time = 1, .name = "state"});
  trace.Raw(std::string_view("\x0a\x00", 2));          // ftrace_events
  trace.Raw(std::string_view("\x40\x05\x4a\x00", 4));  // timestamp, process_stats
  trace.Raw(std::string_view("\x4a\x00\x4a\x00", 4));  // process_stats twice: one packet
  trace.Raw(std::string_view("\xb8\x3e\x01", 3));      // field 999
  const Recording read = trace.Read();
  Strings packets;
  for (const profile::PacketCount& count : read.source.packets) {
    packets.push_back(fmt::format("{} {}", count.type, count.count));
  }
  EXPECT_EQ(packets, (Strings{"field 999 1", "ftrace_events 1", "process_stats 2",
                              "track_event: instant 2", "track_event: type 5 1"}));
  EXPECT_EQ(Lost(read, Loss::kOtherPackets), 7u);
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
}

void AddLegacy(TraceMaker& trace, char phase, uint64_t time, const char* name,
               int64_t duration_us = 0, int32_t tid = 9) {
  trace.Add([&](Packet& packet) {
    packet.add_uint64(TracePacket::kTimestamp, time);
    packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
    pbf_builder<TrackEvent> event{packet, TracePacket::kTrackEvent};
    event.add_string(TrackEvent::kName, name);
    pbf_builder<LegacyEvent> legacy{event, TrackEvent::kLegacyEvent};
    legacy.add_int32(LegacyEvent::kPhase, phase);
    if (duration_us != 0) legacy.add_int64(LegacyEvent::kDurationUs, duration_us);
    legacy.add_int32(LegacyEvent::kPidOverride, 8);
    legacy.add_int32(LegacyEvent::kTidOverride, tid);
  });
}

TEST(PerfettoForeign, PhasesOfOldEvents) {
  TraceMaker trace;
  trace.Thread(kTrack, 8, 9, "main");
  AddLegacy(trace, 'B', 1'000, "outer");
  AddLegacy(trace, 'X', 2'000, "whole", 3);
  AddLegacy(trace, 'X', 3'000, "inside", 1);
  AddLegacy(trace, 'X', 5'000, "next", 1);
  AddLegacy(trace, 'E', 9'000, "");
  AddLegacy(trace, 'I', 1'000, "instant");
  AddLegacy(trace, 'S', 1'000, "async");
  AddLegacy(trace, 'X', 1'000, "backwards", -1);
  AddLegacy(trace, 'X', 1'000, "endless", INT64_MAX);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read),
            (Strings{"main: outer 1000+8000", "main: whole 2000+3000 < outer",
                     "main: inside 3000+1000 < whole", "main: next 5000+1000 < outer"}));
  EXPECT_EQ(Lost(read, Loss::kOtherPackets), 2u);
  EXPECT_EQ(Lost(read, Loss::kEndBeforeStart), 1u);
  EXPECT_EQ(Lost(read, Loss::kTimeOutOfRange), 1u);
}

TEST(PerfettoForeign, NamesAreRepairedAndCountedOnce) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t\xFF")
                             .Begin(1, "bad \xC0")
                             .End(2)
                             .Begin(3, "bad \xC0")
                             .End(4)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t\\xFF: bad \\xC0 1+1", "t\\xFF: bad \\xC0 3+1"}));
  EXPECT_EQ(Lost(read, Loss::kInvalidUtf8), 2u);
}

TEST(PerfettoForeign, DamagedPacketsAreSkipped) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x");
  trace.Raw(std::string_view("\x07\x07", 2));          // no such wire type
  trace.Raw(std::string_view("\x5a\x05\x01", 3));      // an event longer than its packet
  trace.Raw(std::string_view("\x5a\x02\x1a\x7f", 4));  // the same inside
  trace.Raw(std::string_view("\x08", 1));              // a key without value
  trace.Bytes(std::string_view("\x10\x05", 2));        // a field of Trace that is no packet
  trace.End(2);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 5u);
  EXPECT_EQ(Lost(read, Loss::kTruncatedFile), 0u);
}

TEST(PerfettoForeign, ReadingStopsWhereNothingIsFramed) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t")
                             .Begin(1, "x")
                             .End(2)
                             .Bytes(std::string(100, '\0'))
                             .Begin(3, "y")
                             .End(4)
                             .Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 1u);
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  out.resize(size);
  return out;
}
void AddCompressed(TraceMaker& trace, const std::string& deflated) {
  trace.Add([&](Packet& packet) {
    packet.add_bytes(TracePacket::kCompressedPackets, deflated.data(), deflated.size());
  });
}

TEST(PerfettoForeign, CompressedPackets) {
  TraceMaker inner;
  inner.Begin(1, "x").End(2);
  TraceMaker trace;
  trace.Named(kTrack, "t");
  AddCompressed(trace, Deflated(inner.bytes()));
  EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1+1"});

  TraceMaker nested;
  AddCompressed(nested, Deflated(trace.bytes()));  // compressed inside compressed
  nested.Begin(5, "y").End(6);
  const Recording read = nested.Read();
  EXPECT_EQ(Lines(read), Strings{"t: y 5+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 1u);
}

TEST(PerfettoForeign, InflatesNoMoreThanItsLimit) {
  const std::string good = Deflated(std::string(100'000, 'a'));
  EXPECT_EQ(Inflate(good, 99'999), std::nullopt);
  EXPECT_EQ(Inflate(good, 100'000), std::string(100'000, 'a'));
  EXPECT_EQ(Inflate("", 100), std::nullopt);
  EXPECT_EQ(Inflate(good.substr(0, good.size() - 1), 100'000), std::nullopt);
}

TEST(PerfettoForeign, BrokenStreamsAreDamage) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x").End(2);
  const std::string good = Deflated(std::string(1'000, 'a'));
  AddCompressed(trace, good.substr(0, good.size() / 2));
  AddCompressed(trace, "no zlib at all");
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 2u);
}

TEST(PerfettoForeign, MoreTracksThanTheModelHolds) {
  TraceMaker trace;
  for (uint64_t track = 1; track <= 65'600; ++track)
    trace.Begin(track, "x", track).End(track, track);
  const Recording read = trace.Read();
  EXPECT_EQ(read.profile.tracks.size(), 65'535u);
  EXPECT_EQ(read.profile.slices.size(), 65'535u);
  EXPECT_EQ(Lost(read, Loss::kTooLarge), 2 * (65'600u - 65'535u));
}

TEST(PerfettoForeign, AForgedDescriptionMakesNoRun) {
  TraceMaker trace;
  for (const char* description :
       {"inferprobe track=0 lane=0 type=thread kind=host_wall pid=1 tid=1 name=99",
        "inferprobe track=0 lane=4000000000 type=engine kind=device pid=1 tid=1 name=1 thread=9",
        "inferprobe track=x", "inferprobe notes"}) {
    trace.Add([&](Packet& packet) {
      pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, kTrack);
      track.add_string(TrackDescriptor::kName, "t");
      track.add_string(TrackDescriptor::kDescription, description);
    });
    trace.Begin(1, "x").End(2);
    trace.AddEvent({.type = kInstant, .time = 1});
  }
  const Recording read = trace.Read();
  EXPECT_EQ(read.profile.runs.size(), 0u);
  EXPECT_EQ(read.profile.slices.size(), 4u);
}

TEST(PerfettoForeign, ManySequencesAndLostNumbersAreNotSlow) {
  TraceMaker trace;
  trace.Named(kTrack, "t");
  for (uint32_t sequence = 1; sequence <= 50'000; ++sequence) {
    trace.AddEvent({.time = sequence,
                    .iid = 5,
                    .sequence = sequence * 85'000,
                    .flags = kIncrementalStateCleared});
  }
  const Recording read = trace.Read();
  EXPECT_EQ(Lost(read, Loss::kLostState), 50'000u);
}

// Twice the slices, twice the work: deep, flat, backwards, and with an end missing each time.
TEST(PerfettoForeign, WorkIsLinearInSlices) {
  const auto work = [](uint64_t count, int shape) {
    TraceMaker trace;
    trace.Named(kTrack, "t");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = shape == 2 ? 10 * (count - i) : 10 * i;
      trace.Begin(at, "x");
      if (shape == 1 || shape == 2) trace.End(at + 5);
    }
    for (uint64_t i = 0; shape == 0 && i < count; ++i) trace.End(10 * (count + i));
    const size_t before = g_allocations;
    const Recording read = trace.Read();
    EXPECT_EQ(read.profile.slices.size(), shape == 3 ? 0 : count);
    return static_cast<double>(g_allocations - before);
  };
  for (int shape = 0; shape < 4; ++shape) {
    EXPECT_LT(work(40'000, shape), 2.2 * work(20'000, shape) + 100) << shape;
    EXPECT_LT(work(40'000, shape), 1'000) << "no allocation for each slice: " << shape;
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
