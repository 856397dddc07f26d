#include "formats/perfetto/trace_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_message.hpp>

#include "formats/perfetto/fields.h"

namespace inferprobe::perfetto {
namespace {

using protozero::data_view;
using protozero::pbf_message;

std::string Text(data_view view) { return {view.data(), view.size()}; }

struct RawEvent {
  int64_t time_ns = 0;
  int32_t type = 0;
  uint64_t track = 0;
  std::string name;
  std::string category;
  double value = 0;
  std::map<std::string, std::string> args;
};

class Decoder {
 public:
  DecodedTrace Run(std::string_view bytes) {
    pbf_message<Trace> trace{data_view{bytes.data(), bytes.size()}};
    while (trace.next(Trace::kPacket)) {
      const data_view packet = trace.get_view();
      Packet(packet);
    }
    Pair();
    return std::move(out_);
  }

 private:
  void Error(std::string text) { out_.errors.push_back(std::move(text)); }

  void Packet(data_view view) {
    uint64_t timestamp = 0;
    uint64_t clock = default_clock_;
    uint32_t flags = 0;
    bool sequence = false;
    data_view event;
    data_view defaults;
    data_view interned;
    for (pbf_message<TracePacket> packet{view}; packet.next();) {
      switch (packet.tag()) {
        case TracePacket::kTimestamp:
          timestamp = packet.get_uint64();
          break;
        case TracePacket::kTimestampClockId:
          clock = packet.get_uint32();
          break;
        case TracePacket::kTrustedPacketSequenceId:
          sequence = packet.get_uint32() != 0;
          break;
        case TracePacket::kSequenceFlags:
          flags = packet.get_uint32();
          break;
        case TracePacket::kTrackEvent:
          event = packet.get_view();
          break;
        case TracePacket::kInternedData:
          interned = packet.get_view();
          break;
        case TracePacket::kTracePacketDefaults:
          defaults = packet.get_view();
          break;
        case TracePacket::kClockSnapshot:
          Clocks(packet.get_view());
          break;
        case TracePacket::kTrackDescriptor:
          Descriptor(packet.get_view());
          break;
        case TracePacket::kTraceUuid:
          Uuid(packet.get_view());
          break;
        case TracePacket::kFirstPacketOnSequence:
          packet.skip();
          break;
        default:
          Error("unknown field of a packet");
          packet.skip();
      }
    }
    if (!sequence) Error("a packet without sequence");
    if ((flags & kIncrementalStateCleared) != 0) {
      for (auto& table : tables_) table.clear();
      out_.epochs.push_back(static_cast<int64_t>(timestamp));
    }
    if (!defaults.empty()) Defaults(defaults);
    if (!interned.empty()) Interned(interned);
    if (event.data() == nullptr) return;
    if ((flags & kNeedsIncrementalState) == 0) Error("an event without its flag");
    if (clock == ClockId::kIncremental) {
      timestamp = clock_ += timestamp;
    }
    Event(event, static_cast<int64_t>(timestamp), view.size() - interned.size());
  }

  void Clocks(data_view view) {
    const bool first = out_.first_clocks.empty();
    for (pbf_message<ClockSnapshot> snapshot{view}; snapshot.next();) {
      if (snapshot.tag() != ClockSnapshot::kClocks) {
        snapshot.skip();
        continue;
      }
      uint32_t id = 0;
      uint64_t time = 0;
      for (pbf_message<Clock> clock{snapshot.get_view()}; clock.next();) {
        switch (clock.tag()) {
          case Clock::kClockId:
            id = clock.get_uint32();
            break;
          case Clock::kTimestamp:
            time = clock.get_uint64();
            break;
          default:
            clock.skip();
        }
      }
      if (first) out_.first_clocks[id] = time;
      if (id == ClockId::kIncremental) clock_ = time;
    }
  }

  void Uuid(data_view view) {
    for (pbf_message<TraceUuid> uuid{view}; uuid.next();) {
      const auto value = static_cast<uint64_t>(uuid.get_int64());
      (uuid.tag() == TraceUuid::kMsb ? out_.uuid_high : out_.uuid_low) = value;
    }
  }

  void Defaults(data_view view) {
    for (pbf_message<TracePacketDefaults> defaults{view}; defaults.next();) {
      if (defaults.tag() == TracePacketDefaults::kTimestampClockId) {
        default_clock_ = defaults.get_uint32();
      } else {
        pbf_message<TrackEventDefaults> track{defaults.get_view()};
        while (track.next()) default_track_ = track.get_uint64();
      }
    }
  }

  void Interned(data_view view) {
    for (pbf_message<InternedData> data{view}; data.next();) {
      auto& table = tables_[static_cast<size_t>(data.tag())];
      uint64_t iid = 0;
      std::string text;
      for (pbf_message<InternedEntry> entry{data.get_view()}; entry.next();) {
        if (entry.tag() == InternedEntry::kIid) {
          iid = entry.get_uint64();
        } else {
          text = Text(entry.get_view());
        }
      }
      if (iid == 0 || !table.emplace(iid, text).second) Error("interned twice: " + text);
    }
  }

  std::string Lookup(InternedData which, uint64_t iid) {
    const auto& table = tables_[static_cast<size_t>(which)];
    const auto found = table.find(iid);
    if (found != table.end()) return found->second;
    Error(fmt::format("number {} of table {} was never interned", iid, static_cast<int>(which)));
    return "";
  }

  void Descriptor(data_view view) {
    uint64_t uuid = 0;
    DecodedTrack track;
    for (pbf_message<TrackDescriptor> descriptor{view}; descriptor.next();) {
      switch (descriptor.tag()) {
        case TrackDescriptor::kUuid:
          uuid = descriptor.get_uint64();
          break;
        case TrackDescriptor::kParentUuid:
          track.parent = descriptor.get_uint64();
          break;
        case TrackDescriptor::kName:
          track.name = Text(descriptor.get_view());
          break;
        case TrackDescriptor::kProcess:
          track.is_process = true;
          for (pbf_message<ProcessDescriptor> process{descriptor.get_view()}; process.next();) {
            if (process.tag() == ProcessDescriptor::kPid) {
              track.pid = process.get_int32();
            } else {
              track.name = Text(process.get_view());
            }
          }
          break;
        case TrackDescriptor::kThread:
          for (pbf_message<ThreadDescriptor> thread{descriptor.get_view()}; thread.next();) {
            switch (thread.tag()) {
              case ThreadDescriptor::kPid:
                track.pid = thread.get_int32();
                break;
              case ThreadDescriptor::kTid:
                track.tid = thread.get_int64();
                break;
              default:
                track.name = Text(thread.get_view());
            }
          }
          break;
        case TrackDescriptor::kCounter:
          track.is_counter = true;
          for (pbf_message<CounterDescriptor> counter{descriptor.get_view()}; counter.next();) {
            track.unit = Text(counter.get_view());
          }
          break;
        default:
          descriptor.skip();
      }
    }
    if (uuid == 0 || !out_.tracks.emplace(uuid, track).second) Error("a track described twice");
  }

  void Annotation(data_view view, std::map<std::string, std::string>& args) {
    std::string name;
    std::string value;
    for (pbf_message<DebugAnnotation> annotation{view}; annotation.next();) {
      switch (annotation.tag()) {
        case DebugAnnotation::kNameIid:
          name = Lookup(InternedData::kDebugAnnotationNames, annotation.get_uint64());
          break;
        case DebugAnnotation::kName:
          name = Text(annotation.get_view());
          break;
        case DebugAnnotation::kIntValue:
          value = std::to_string(annotation.get_int64());
          break;
        case DebugAnnotation::kStringValue:
          value = Text(annotation.get_view());
          break;
        case DebugAnnotation::kStringValueIid:
          value = Lookup(InternedData::kDebugAnnotationStringValues, annotation.get_uint64());
          break;
        default:
          annotation.skip();
      }
    }
    args[name] = value;
  }

  void Event(data_view view, int64_t time_ns, size_t packet_bytes) {
    RawEvent raw;
    raw.time_ns = time_ns;
    raw.track = default_track_;
    for (pbf_message<TrackEvent> event{view}; event.next();) {
      switch (event.tag()) {
        case TrackEvent::kType:
          raw.type = event.get_enum();
          break;
        case TrackEvent::kTrackUuid:
          raw.track = event.get_uint64();
          break;
        case TrackEvent::kNameIid:
          raw.name = Lookup(InternedData::kEventNames, event.get_uint64());
          break;
        case TrackEvent::kName:
          raw.name = Text(event.get_view());
          break;
        case TrackEvent::kCategoryIids:
          raw.category = Lookup(InternedData::kEventCategories, event.get_uint64());
          break;
        case TrackEvent::kDoubleCounterValue:
          raw.value = event.get_double();
          break;
        case TrackEvent::kDebugAnnotations:
          Annotation(event.get_view(), raw.args);
          break;
        default:
          event.skip();
      }
    }
    if (out_.tracks.count(raw.track) == 0) Error("an event on a track that is not described");
    if (raw.type == kSliceBegin || raw.type == kSliceEnd) {
      ++out_.events;
      out_.event_bytes += packet_bytes + 2;  // tag and length in the trace
    }
    raw_.push_back(std::move(raw));
  }

  void Pair() {
    std::stable_sort(raw_.begin(), raw_.end(),
                     [](const RawEvent& a, const RawEvent& b) { return a.time_ns < b.time_ns; });
    std::map<uint64_t, std::vector<int>> open;
    for (RawEvent& event : raw_) {
      std::vector<int>& stack = open[event.track];
      if (event.type == kCounter) {
        out_.counters.push_back({event.track, event.time_ns, event.value});
      } else if (event.type == kSliceEnd) {
        if (stack.empty()) {
          Error("an end without begin");
          continue;
        }
        DecodedSlice& slice = out_.slices[static_cast<size_t>(stack.back())];
        slice.dur_ns = event.time_ns - slice.start_ns;
        stack.pop_back();
      } else {
        DecodedSlice slice;
        slice.track = event.track;
        slice.start_ns = event.time_ns;
        slice.name = std::move(event.name);
        slice.category = std::move(event.category);
        slice.args = std::move(event.args);
        slice.depth = static_cast<int>(stack.size());
        slice.parent = stack.empty() ? -1 : stack.back();
        if (event.type == kInstant) {
          out_.instants.push_back(std::move(slice));
        } else {
          stack.push_back(static_cast<int>(out_.slices.size()));
          out_.slices.push_back(std::move(slice));
        }
      }
    }
    for (const auto& [track, stack] : open) {
      if (!stack.empty()) Error("a begin without end");
    }
  }

  DecodedTrace out_;
  std::vector<RawEvent> raw_;
  std::map<uint64_t, std::string> tables_[32];
  uint64_t default_clock_ = ClockId::kBoottime;
  uint64_t default_track_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace

DecodedTrace DecodeTrace(std::string_view bytes) { return Decoder().Run(bytes); }

}  // namespace inferprobe::perfetto
