// Traces of other tools: names by number, defaults, clocks, counters, and events of older forms.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/trace_maker.h"

namespace inferprobe::perfetto {
namespace {

using profile::Loss;
using profile::Recording;
using profile::TrackType;
using protozero::pbf_builder;

TEST(PerfettoState, NamesByNumber) {
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

TEST(PerfettoState, DroppedPacketsVoidTheNumbers) {
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

TEST(PerfettoState, DefaultsOfASequence) {
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

TEST(PerfettoState, ClocksLeadToTheMainOne) {
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

TEST(PerfettoState, ThePrimaryClockIsTheMainOne) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Snapshot({{6, 10'000}, {3, 1'000}}, 3);
  trace.AddEvent({.time = 10'500, .name = "x", .clock = 6});
  trace.AddEvent({.type = kSliceEnd, .time = 1'600, .clock = 3});
  EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1500+100"});
}

TEST(PerfettoState, ClocksOfASequenceAreItsOwn) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Snapshot({{6, 10'000}, {64, 0}}, 0, 1);
  trace.AddEvent({.time = 5, .name = "x", .sequence = 2, .clock = 64});
  trace.AddEvent({.time = 5, .name = "y", .clock = 200});
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings());
  EXPECT_EQ(Lost(read, Loss::kUnknownClock), 2u);
}

TEST(PerfettoState, TimesBeyond63BitsAreCounted) {
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

TEST(PerfettoState, CountersInTheirUnits) {
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

TEST(PerfettoState, WhatIsNotReadIsCountedByType) {
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

TEST(PerfettoState, PhasesOfOldEvents) {
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

}  // namespace
}  // namespace inferprobe::perfetto
