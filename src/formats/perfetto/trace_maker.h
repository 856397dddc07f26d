// Packets made by hand, for tests of the reader: one after another, each as it is said.
//
//   TraceMaker trace;
//   trace.Named(kTrack, "t").Begin(1, "x").End(2);
//   EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1+1"});
//
// The rule that people break: nothing is completed or put in order. A test says every packet.
#pragma once

#include <cstdint>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perfetto/fields.h"
#include "profile/recording.h"

namespace inferprobe::perfetto {

constexpr uint64_t kTrack = 77;

// packet(...) { ... } of one TracePacket after another.
class TraceMaker {
 public:
  using Packet = protozero::pbf_builder<TracePacket>;
  template <typename Fill>
  TraceMaker& Add(Fill fill) {
    protozero::pbf_builder<Trace> trace{bytes_};
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
      protozero::pbf_builder<TrackEvent> track{packet, TracePacket::kTrackEvent};
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
  // A complete event of Chrome's old form.
  TraceMaker& Complete(uint64_t time, const char* name, int64_t us, uint64_t track = kTrack) {
    return Add([&](Packet& packet) {
      packet.add_uint64(TracePacket::kTimestamp, time);
      protozero::pbf_builder<TrackEvent> event{packet, TracePacket::kTrackEvent};
      event.add_uint64(TrackEvent::kTrackUuid, track);
      event.add_string(TrackEvent::kName, name);
      protozero::pbf_builder<LegacyEvent> legacy{event, TrackEvent::kLegacyEvent};
      legacy.add_int32(LegacyEvent::kPhase, 'X');
      legacy.add_int64(LegacyEvent::kDurationUs, us);
    });
  }
  TraceMaker& Named(uint64_t uuid, const char* name, uint64_t parent = 0) {
    return Add([&](Packet& packet) {
      protozero::pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, uuid);
      if (parent != 0) track.add_uint64(TrackDescriptor::kParentUuid, parent);
      if (name != nullptr) track.add_string(TrackDescriptor::kName, name);
    });
  }
  TraceMaker& Thread(uint64_t uuid, int32_t pid, int64_t tid, const char* name) {
    return Add([&](Packet& packet) {
      protozero::pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, uuid);
      protozero::pbf_builder<ThreadDescriptor> thread{track, TrackDescriptor::kThread};
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
      protozero::pbf_builder<ClockSnapshot> snapshot{packet, TracePacket::kClockSnapshot};
      for (const Reading& reading : clocks) {
        protozero::pbf_builder<Clock> clock{snapshot, ClockSnapshot::kClocks};
        clock.add_uint32(Clock::kClockId, reading.clock);
        clock.add_uint64(Clock::kTimestamp, reading.time);
        if (reading.incremental) clock.add_bool(Clock::kIsIncremental, true);
        if (reading.multiplier != 0) clock.add_uint64(Clock::kUnitMultiplierNs, reading.multiplier);
      }
      if (primary != 0) snapshot.add_enum(ClockSnapshot::kPrimaryTraceClock, primary);
    });
  }
  TraceMaker& Raw(std::string_view packet) {
    protozero::pbf_builder<Trace> trace{bytes_};
    trace.add_message(Trace::kPacket, packet.data(), packet.size());
    return *this;
  }
  TraceMaker& Bytes(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] profile::Recording Read() const;

 private:
  std::string bytes_;
};

using Packet = TraceMaker::Packet;
using Strings = std::vector<std::string>;

// "track: name start+length < parent", in the order of the model.
Strings Lines(const profile::Recording& recording);
// "track unit: value@time"
Strings Counters(const profile::Recording& recording);
uint64_t Lost(const profile::Recording& recording, profile::Loss loss);

}  // namespace inferprobe::perfetto
