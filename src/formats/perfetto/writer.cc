#include "formats/perfetto/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "formats/perfetto/packet_out.h"
#include "formats/perfetto/track_mark.h"

namespace inferprobe::perfetto {
namespace {

using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Slice;
using protozero::pbf_builder;

constexpr int64_t kEpochNs = 1'000'000'000;
constexpr uint64_t kCheapEpochBytes = 1024;  // of texts
constexpr size_t kDrainBytes = size_t{1} << 15;
constexpr const char* kOwnTrack = "inferprobe";

void AddClock(pbf_builder<ClockSnapshot>& snapshot, uint32_t id, int64_t time_ns,
              bool incremental = false) {
  if (time_ns < 0) return;
  pbf_builder<Clock> clock{snapshot, ClockSnapshot::kClocks};
  clock.add_uint32(Clock::kClockId, id);
  clock.add_uint64(Clock::kTimestamp, static_cast<uint64_t>(time_ns));
  if (incremental) clock.add_bool(Clock::kIsIncremental, true);
}

// -1 where the sum has no place in 63 bits.
int64_t Shifted(int64_t time_ns, int64_t offset_ns) {
  int64_t sum = 0;
  return __builtin_add_overflow(time_ns, offset_ns, &sum) ? -1 : sum;
}

}  // namespace

struct Writer::Event {
  int64_t time_ns;
  uint64_t uuid;
  uint32_t index;  // of the slice, of the counter sample, or of the run
  EventType type;
  uint8_t flags;
};

Result<Writer> Writer::Create(base::AtomicFile file, const Profile* profile) {
  if (profile == nullptr) return MakeError(ErrorCode::kInternal, "a trace writer needs a profile");
  return Writer(std::move(file), profile);
}

Writer::Writer(base::AtomicFile file, const Profile* profile)
    : file_(std::move(file)), profile_(profile), runs_(profile) {}

Result<void> Writer::Append(uint32_t first_slice, uint32_t slice_count, uint32_t first_counter,
                            uint32_t counter_count) {
  const size_t slices = profile_->slices.size();
  const size_t counters = profile_->counters.size();
  if (first_slice > slices || slice_count > slices - first_slice || first_counter > counters ||
      counter_count > counters - first_counter) {
    return MakeError(ErrorCode::kInternal, "more was appended to the trace than the profile holds");
  }
  for (uint32_t i = first_slice; i < first_slice + slice_count; ++i) {
    if (profile_->slices[i].track >= profile_->tracks.size()) {
      return MakeError(ErrorCode::kInternal, fmt::format("slice {} has no track", i));
    }
  }
  for (uint32_t i = first_counter; i < first_counter + counter_count; ++i) {
    if (profile_->counters[i].track >= profile_->tracks.size()) {
      return MakeError(ErrorCode::kInternal, fmt::format("counter sample {} has no track", i));
    }
  }
  WriteUuid();
  runs_.Learn(first_slice, slice_count);
  const std::vector<SliceEdge> edges =
      planner_.Place(*profile_, first_slice, slice_count, losses_, &runs_);
  DescribeNewLanes();
  const std::vector<Event> events =
      Collect(edges, first_slice, slice_count, first_counter, counter_count);
  CountBegins(events, first_slice, slice_count);
  for (const Event& event : events) {
    WriteEvent(event);
    if (out_.size() >= kDrainBytes) INFERPROBE_RETURN_IF_ERROR(Drain(false));
  }
  return Drain(true);
}

Result<void> Writer::Finish(const Notes& notes) {
  WriteUuid();
  std::vector<Event> marks;
  runs_.Learn(static_cast<uint32_t>(profile_->slices.size()), 0);
  AddRunMarks(std::numeric_limits<uint64_t>::max(), marks);
  AddAllocations(std::numeric_limits<uint64_t>::max(), marks);
  for (const Event& mark : marks) WriteEvent(mark);
  WriteNotes(notes);
  INFERPROBE_RETURN_IF_ERROR(Drain(true));
  return file_.Commit();
}

void Writer::Abandon() { file_.Abandon(); }

Result<void> Writer::Drain(bool flush) {
  losses_.Add(Loss::kInvalidUtf8, interner_.repaired() - losses_.Get(Loss::kInvalidUtf8));
  auto written = file_.Write(out_);
  out_.clear();
  if (!written || !flush) return written;
  return file_.Flush();
}

void Writer::WriteUuid() {
  if (started_) return;
  started_ = true;
  const std::string& id = profile_->run_id;
  uint64_t halves[2] = {};
  if (id.size() != 32) return;
  for (size_t half = 0; half < 2; ++half) {
    const char* begin = id.data() + half * 16;
    const auto [end, error] = std::from_chars(begin, begin + 16, halves[half], 16);
    if (error != std::errc() || end != begin + 16) return;
  }
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  SetSequence(packet, 0);
  pbf_builder<TraceUuid> uuid{packet, TracePacket::kTraceUuid};
  uuid.add_int64(TraceUuid::kMsb, static_cast<int64_t>(halves[0]));
  uuid.add_int64(TraceUuid::kLsb, static_cast<int64_t>(halves[1]));
}

// Slices and counters together, in order of time; and which track has the most events.
std::vector<Writer::Event> Writer::Collect(const std::vector<SliceEdge>& edges,
                                           uint32_t first_slice, uint32_t slice_count,
                                           uint32_t first_counter, uint32_t counter_count) {
  std::vector<Event> events;
  events.reserve(edges.size() + counter_count);
  std::vector<size_t> edges_of_lane(lane_uuids_.size());
  for (const SliceEdge& edge : edges) {
    events.push_back({edge.time_ns, lane_uuids_[edge.lane], edge.slice,
                      edge.begin ? EventType::kBegin : EventType::kEnd,
                      edge.begin
                          ? FlagsOf(edge.slice, edge.inside, planner_.lanes()[edge.lane].ordinal)
                          : uint8_t{0}});
    ++edges_of_lane[edge.lane];
  }
  const auto busiest = std::max_element(edges_of_lane.begin(), edges_of_lane.end());
  if (busiest != edges_of_lane.end() && *busiest > 0) {
    busiest_uuid_ = lane_uuids_[static_cast<size_t>(busiest - edges_of_lane.begin())];
  }
  const size_t slices_end = events.size();
  for (uint32_t i = first_slice; i < first_slice + slice_count; ++i) {
    const Slice& slice = profile_->slices[i];
    if (!profile_->tracks[slice.track].in_ticks) continue;
    if (slice.dur_ns < 0) {
      losses_.Add(Loss::kEndBeforeStart);
      continue;
    }
    // Where it belongs is all that is known of its place: it is shown as the call begins.
    int64_t time_ns = clock_ns_;
    if (slice.parent < profile_->slices.size()) {
      time_ns = std::max<int64_t>(profile_->slices[slice.parent].start_ns, 0);
    }
    events.push_back(
        {time_ns, DescribeTicks(slice.track), i, EventType::kTicks, FlagsOf(i, kNone, 0)});
  }
  for (uint32_t i = first_counter; i < first_counter + counter_count; ++i) {
    const profile::CounterSample& sample = profile_->counters[i];
    if (sample.time_ns < 0) {
      losses_.Add(Loss::kTimeOutOfRange);
      continue;
    }
    events.push_back({sample.time_ns, DescribeCounter(sample.track), i, EventType::kCounter, 0});
  }
  AddAllocations(uint64_t{first_slice} + slice_count, events);
  AddRunMarks(uint64_t{first_slice} + slice_count, events);
  const auto by_time = [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; };
  const auto middle = events.begin() + static_cast<ptrdiff_t>(slices_end);
  std::stable_sort(middle, events.end(), by_time);
  std::inplace_merge(events.begin(), middle, events.end(), by_time);
  return events;
}

// A second later, if that is no more bytes than the events were: texts that are large beside them
// (a delegate's metadata) would be most of the file, as often as they are written again.
bool Writer::IsEpochOver(int64_t time_ns) const {
  if (time_ns < clock_ns_ || time_ns - epoch_start_ns_ < kEpochNs) return false;
  return interner_.bytes() <= std::max(kCheapEpochBytes, epoch_event_bytes_);
}

// Starts over with numbers and clock, so that a reader that lost the part before can go on here.
void Writer::BeginEpoch(int64_t time_ns) {
  interner_.Clear();
  default_uuid_ = busiest_uuid_;
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  packet.add_uint64(TracePacket::kTimestamp, static_cast<uint64_t>(time_ns));
  packet.add_uint32(TracePacket::kTimestampClockId, ClockId::kMonotonic);
  SetSequence(packet, kIncrementalStateCleared);
  if (!epoch_open_) packet.add_bool(TracePacket::kFirstPacketOnSequence, true);
  {
    pbf_builder<TracePacketDefaults> defaults{packet, TracePacket::kTracePacketDefaults};
    {
      pbf_builder<TrackEventDefaults> track{defaults, TracePacketDefaults::kTrackEventDefaults};
      track.add_uint64(TrackEventDefaults::kTrackUuid, default_uuid_);
    }
    defaults.add_uint32(TracePacketDefaults::kTimestampClockId, ClockId::kIncremental);
  }
  {
    const profile::ClockFacts& clock = profile_->clock;
    pbf_builder<ClockSnapshot> snapshot{packet, TracePacket::kClockSnapshot};
    AddClock(snapshot, ClockId::kBoottime, Shifted(time_ns, clock.boottime_minus_monotonic_ns));
    AddClock(snapshot, ClockId::kRealtime, Shifted(time_ns, clock.realtime_minus_monotonic_ns));
    AddClock(snapshot, ClockId::kMonotonic, time_ns);
    AddClock(snapshot, ClockId::kIncremental, time_ns, true);
    // The reader's own time is then ours, with no conversion that could fail or overflow.
    snapshot.add_enum(ClockSnapshot::kPrimaryTraceClock, ClockId::kMonotonic);
  }
  epoch_open_ = true;
  epoch_start_ns_ = time_ns;
  epoch_event_bytes_ = 0;
  clock_ns_ = time_ns;
}

void Writer::CountBegins(const std::vector<Event>& events, uint32_t first_slice,
                         uint32_t slice_count) {
  first_slice_ = first_slice;
  begun_.assign(slice_count, kNone);
  uint32_t begun = 0;
  for (const Event& event : events) {
    if (event.type == EventType::kAllocation) {
      begun_before_[event.index - first_allocation_] = begun;
      continue;
    }
    if (event.type != EventType::kBegin && event.type != EventType::kTicks) continue;
    begun_[event.index - first_slice] = begun++;
  }
}

void Writer::AddRunMarks(uint64_t end, std::vector<Event>& events) {
  for (const uint32_t run : runs_.TakeMarks(end)) {
    if (run_marks_uuid_ == 0) {
      run_marks_uuid_ = DescribeNamedTrack(0, std::string(kRunsMark), nullptr, kRunsMark);
    }
    const int64_t time_ns = std::max<int64_t>(profile_->runs[run].start_ns, 0);
    events.push_back({time_ns, run_marks_uuid_, run, EventType::kRunMark, 0});
  }
}

// Those that no earlier batch had, up to the first that is in a slice from `end` on.
void Writer::AddAllocations(uint64_t end, std::vector<Event>& events) {
  const auto& all = profile_->allocations;
  first_allocation_ += static_cast<uint32_t>(begun_before_.size());
  size_t behind = first_allocation_;
  while (behind < all.size() && (all[behind].slice == kNone || all[behind].slice < end)) ++behind;
  begun_before_.assign(behind - first_allocation_, kNone);
  for (uint32_t i = 0; i < begun_before_.size(); ++i) {
    const profile::Allocation& allocation = all[first_allocation_ + i];
    if (allocation.time_ns < 0) {
      losses_.Add(Loss::kTimeOutOfRange);
      continue;
    }
    events.push_back({allocation.time_ns, DescribeAllocations(allocation.device),
                      first_allocation_ + i, EventType::kAllocation, 0});
  }
}

void Writer::WriteEvent(const Event& event) {
  if (!epoch_open_ || IsEpochOver(event.time_ns)) BeginEpoch(event.time_ns);
  std::string body;
  {
    pbf_builder<TrackEvent> out{body};
    const bool instant = event.type == EventType::kTicks || event.type == EventType::kRunMark;
    const bool counter = event.type == EventType::kCounter || event.type == EventType::kAllocation;
    out.add_enum(TrackEvent::kType, instant                           ? kInstant
                                    : event.type == EventType::kBegin ? kSliceBegin
                                    : counter                         ? kCounter
                                                                      : kSliceEnd);
    if (event.uuid != default_uuid_) out.add_uint64(TrackEvent::kTrackUuid, event.uuid);
    switch (event.type) {
      case EventType::kCounter:
        out.add_double(TrackEvent::kDoubleCounterValue, profile_->counters[event.index].value);
        break;
      case EventType::kAllocation:
        WriteAllocation(body, event.index);
        break;
      case EventType::kEnd:
        break;
      case EventType::kRunMark:
        out.add_string(TrackEvent::kName, "run");
        WriteRunArgs(body, event.index);
        AddInt(out, interner_.Arg(ArgName::kDur), profile_->runs[event.index].dur_ns);
        if (profile_->runs[event.index].start_ns != event.time_ns) {
          AddInt(out, interner_.Arg(ArgName::kStart), profile_->runs[event.index].start_ns);
        }
        break;
      case EventType::kBegin:
      case EventType::kTicks: {
        const Slice& slice = profile_->slices[event.index];
        out.add_uint64(TrackEvent::kNameIid, interner_.EventName(*profile_, slice.name));
        // Packed in the schema, but readers must take, and Perfetto's take, the plain form too:
        // one byte less.
        out.add_uint64(TrackEvent::kCategoryIids, interner_.Category(slice.category));
        WriteArgs(body, event.index, event.flags);
        break;
      }
    }
  }
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  if (event.time_ns >= clock_ns_) {
    packet.add_uint64(TracePacket::kTimestamp, static_cast<uint64_t>(event.time_ns - clock_ns_));
    clock_ns_ = event.time_ns;
  } else {  // late: the incremental clock cannot go back
    packet.add_uint64(TracePacket::kTimestamp, static_cast<uint64_t>(event.time_ns));
    packet.add_uint32(TracePacket::kTimestampClockId, ClockId::kMonotonic);
  }
  SetSequence(packet, kNeedsIncrementalState);
  if (!interner_.pending().empty()) {
    packet.add_message(TracePacket::kInternedData, interner_.pending());
    interner_.ClearPending();
  }
  packet.add_message(TracePacket::kTrackEvent, body);
  epoch_event_bytes_ += body.size();
}

void Writer::WriteNotes(const Notes& notes) {
  const uint64_t uuid = DescribeNamedTrack(0, kOwnTrack, nullptr, kNotesMark);
  if (!epoch_open_) BeginEpoch(clock_ns_);
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  packet.add_uint64(TracePacket::kTimestamp, static_cast<uint64_t>(clock_ns_));
  packet.add_uint32(TracePacket::kTimestampClockId, ClockId::kMonotonic);
  SetSequence(packet, kNeedsIncrementalState);
  pbf_builder<TrackEvent> event{packet, TracePacket::kTrackEvent};
  event.add_enum(TrackEvent::kType, kInstant);
  event.add_uint64(TrackEvent::kTrackUuid, uuid);
  event.add_string(TrackEvent::kCategories, kOwnTrack);
  event.add_string(TrackEvent::kName, "notes");
  for (const auto& [key, value] : notes) {
    pbf_builder<DebugAnnotation> annotation{event, TrackEvent::kDebugAnnotations};
    annotation.add_string(DebugAnnotation::kName, interner_.Repaired(key));
    annotation.add_string(DebugAnnotation::kStringValue, interner_.Repaired(value));
  }
}

}  // namespace inferprobe::perfetto
