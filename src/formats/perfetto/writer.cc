#include "formats/perfetto/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/track_mark.h"

namespace inferprobe::perfetto {
namespace {

using profile::Loss;
using profile::Profile;
using profile::Slice;
using profile::SliceArgs;
using profile::Track;
using profile::TrackType;
using protozero::pbf_builder;

constexpr uint32_t kSequence = 1;
constexpr int64_t kEpochNs = 1'000'000'000;
constexpr size_t kDrainBytes = size_t{1} << 15;
constexpr const char* kOwnTrack = "inferprobe";
constexpr std::string_view kReported = " (engine-reported, start times not measured)";
constexpr std::string_view kInTicks = " (ticks of an unknown clock, no times)";

// Packets carry these for every reader's sake: without a sequence id Perfetto ignores interned
// data.
void SetSequence(pbf_builder<TracePacket>& packet, uint32_t flags) {
  packet.add_uint32(TracePacket::kTrustedPacketSequenceId, kSequence);
  if (flags != 0) packet.add_uint32(TracePacket::kSequenceFlags, flags);
}

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

bool Fits32(int64_t id) { return id > 0 && id <= std::numeric_limits<int32_t>::max(); }

// Whether reader and kernel can know this thread by its numbers.
bool IsRealThread(const Track& track) {
  return track.type == TrackType::kThread && Fits32(track.pid) && Fits32(track.tid);
}

// What is shown of a track of this name.
std::string LaneName(const Track& track, std::string name, uint32_t ordinal) {
  if (track.in_ticks) {
    if (name.find("ticks of an unknown clock") == std::string::npos) name += kInTicks;
    return name;
  }
  if (track.type == TrackType::kEngine && name.find("engine-reported") == std::string::npos) {
    name += kReported;
  }
  if (ordinal == 1) name += " (overlap)";
  if (ordinal > 1) name += fmt::format(" (overlap {})", ordinal);
  return name;
}

std::string DescriptionOf(const Track& track, uint16_t index, uint32_t lane, size_t name_bytes) {
  TrackMark mark;
  mark.track = index;
  mark.lane = lane;
  mark.type = track.type;
  mark.kind = track.kind;
  mark.pid = track.pid;
  mark.tid = track.tid;
  mark.thread = track.parent;
  mark.name_bytes = name_bytes;
  mark.in_ticks = track.in_ticks;
  return MarkText(mark);
}

void AddInt(pbf_builder<TrackEvent>& event, uint64_t name_iid, int64_t value) {
  pbf_builder<DebugAnnotation> annotation{event, TrackEvent::kDebugAnnotations};
  annotation.add_uint64(DebugAnnotation::kNameIid, name_iid);
  annotation.add_int64(DebugAnnotation::kIntValue, value);
}

void AddText(pbf_builder<TrackEvent>& event, uint64_t name_iid, uint64_t value_iid) {
  pbf_builder<DebugAnnotation> annotation{event, TrackEvent::kDebugAnnotations};
  annotation.add_uint64(DebugAnnotation::kNameIid, name_iid);
  annotation.add_uint64(DebugAnnotation::kStringValueIid, value_iid);
}

}  // namespace

struct Writer::Event {
  int64_t time_ns;
  uint64_t uuid;
  uint32_t index;  // of the slice, or of the counter sample
  TrackEventType type;
};

Result<Writer> Writer::Create(base::AtomicFile file, const Profile* profile) {
  if (profile == nullptr) return MakeError(ErrorCode::kInternal, "a trace writer needs a profile");
  return Writer(std::move(file), profile);
}

Writer::Writer(base::AtomicFile file, const Profile* profile)
    : file_(std::move(file)), profile_(profile) {}

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
  LearnRuns();
  const std::vector<SliceEdge> edges = planner_.Place(*profile_, first_slice, slice_count, losses_);
  DescribeNewLanes();
  const std::vector<Event> events =
      Collect(edges, first_slice, slice_count, first_counter, counter_count);
  for (const Event& event : events) {
    WriteEvent(event);
    if (out_.size() >= kDrainBytes) INFERPROBE_RETURN_IF_ERROR(Drain(false));
  }
  return Drain(true);
}

Result<void> Writer::Finish(const Notes& notes) {
  WriteUuid();
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

uint64_t Writer::DescribeProcess(int64_t pid) {
  if (!Fits32(pid)) return 0;
  const auto [at, is_new] = processes_.try_emplace(pid, last_uuid_ + 1);
  if (!is_new) return at->second;
  ++last_uuid_;
  const std::string name = interner_.Repaired(profile_->process_name);
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  SetSequence(packet, 0);
  pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
  track.add_uint64(TrackDescriptor::kUuid, last_uuid_);
  pbf_builder<ProcessDescriptor> process{track, TrackDescriptor::kProcess};
  process.add_int32(ProcessDescriptor::kPid, static_cast<int32_t>(pid));
  if (!name.empty()) process.add_string(ProcessDescriptor::kProcessName, name);
  return last_uuid_;
}

// A track that is known by its name, below a process (0: below nothing). With a unit, a counter.
uint64_t Writer::DescribeNamedTrack(uint64_t parent, const std::string& name,
                                    const std::string* unit, std::string_view description) {
  ++last_uuid_;
  pbf_builder<Trace> trace{out_};
  pbf_builder<TracePacket> packet{trace, Trace::kPacket};
  SetSequence(packet, 0);
  pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
  track.add_uint64(TrackDescriptor::kUuid, last_uuid_);
  if (parent != 0) track.add_uint64(TrackDescriptor::kParentUuid, parent);
  track.add_string(TrackDescriptor::kName, name);
  track.add_string(TrackDescriptor::kDescription, description.data(), description.size());
  // Otherwise Perfetto's UI draws sibling tracks of equal names as one.
  track.add_int32(TrackDescriptor::kSiblingMergeBehavior, kMergeNone);
  if (unit != nullptr) {
    pbf_builder<CounterDescriptor> counter{track, TrackDescriptor::kCounter};
    counter.add_string(CounterDescriptor::kUnitName, interner_.Repaired(*unit));
  }
  return last_uuid_;
}

// The process that a track is shown in.
uint64_t Writer::ProcessOf(const Track& track) {
  const bool has_parent = track.parent < profile_->tracks.size();
  return DescribeProcess(has_parent ? profile_->tracks[track.parent].pid : track.pid);
}

void Writer::DescribeNewLanes() {
  const std::vector<Lane>& lanes = planner_.lanes();
  for (size_t i = lane_uuids_.size(); i < lanes.size(); ++i) {
    const Track& track = profile_->tracks[lanes[i].track];
    const uint64_t process = ProcessOf(track);
    const std::string name = interner_.Repaired(track.name);
    const std::string description =
        DescriptionOf(track, lanes[i].track, lanes[i].ordinal, name.size());
    const std::pair<int64_t, int64_t> thread(track.pid, track.tid);
    // A second track of the same thread number (the system gave it out again) would be merged
    // with the first.
    if (lanes[i].ordinal > 0 || !IsRealThread(track) ||
        std::find(threads_.begin(), threads_.end(), thread) != threads_.end()) {
      lane_uuids_.push_back(DescribeNamedTrack(process, LaneName(track, name, lanes[i].ordinal),
                                               nullptr, description));
      continue;
    }
    threads_.push_back(thread);
    lane_uuids_.push_back(++last_uuid_);
    pbf_builder<Trace> trace{out_};
    pbf_builder<TracePacket> packet{trace, Trace::kPacket};
    SetSequence(packet, 0);
    pbf_builder<TrackDescriptor> descriptor{packet, TracePacket::kTrackDescriptor};
    descriptor.add_uint64(TrackDescriptor::kUuid, last_uuid_);
    descriptor.add_uint64(TrackDescriptor::kParentUuid, process);
    descriptor.add_string(TrackDescriptor::kDescription, description);
    pbf_builder<ThreadDescriptor> numbers{descriptor, TrackDescriptor::kThread};
    numbers.add_int32(ThreadDescriptor::kPid, static_cast<int32_t>(track.pid));
    numbers.add_int64(ThreadDescriptor::kTid, track.tid);
    if (!name.empty()) numbers.add_string(ThreadDescriptor::kThreadName, name);
  }
}

uint64_t Writer::DescribeCounter(uint16_t track_index) {
  if (const auto found = counters_.find(track_index); found != counters_.end()) {
    return found->second;
  }
  const Track& track = profile_->tracks[track_index];
  const std::string name = interner_.Repaired(track.name);
  const uint64_t uuid = DescribeNamedTrack(DescribeProcess(track.pid), name, &track.unit,
                                           DescriptionOf(track, track_index, 0, name.size()));
  counters_.emplace(track_index, uuid);
  return uuid;
}

uint64_t Writer::DescribeTicks(uint16_t track_index) {
  if (const auto found = ticks_.find(track_index); found != ticks_.end()) return found->second;
  const Track& track = profile_->tracks[track_index];
  const std::string name = interner_.Repaired(track.name);
  const uint64_t uuid = DescribeNamedTrack(ProcessOf(track), LaneName(track, name, 0), nullptr,
                                           DescriptionOf(track, track_index, 0, name.size()));
  ticks_.emplace(track_index, uuid);
  return uuid;
}

// Which run each kRun slice of the newly added runs is.
void Writer::LearnRuns() {
  for (; runs_seen_ < profile_->runs.size(); ++runs_seen_) {
    const profile::Run& run = profile_->runs[runs_seen_];
    const size_t end = std::min(profile_->slices.size(), size_t{run.first_slice} + run.slice_count);
    for (size_t i = run.first_slice; i < end; ++i) {
      if (profile_->slices[i].category == profile::Category::kRun) {
        run_of_[static_cast<uint32_t>(i)] = static_cast<uint32_t>(runs_seen_);
      }
    }
  }
}

// Slices and counters together, in order of time; and which track has the most events.
std::vector<Writer::Event> Writer::Collect(const std::vector<SliceEdge>& edges,
                                           uint32_t first_slice, uint32_t slice_count,
                                           uint32_t first_counter, uint32_t counter_count) {
  std::vector<Event> events;
  events.reserve(edges.size() + counter_count);
  std::vector<size_t> edges_of_lane(lane_uuids_.size());
  for (const SliceEdge& edge : edges) {
    events.push_back(
        {edge.time_ns, lane_uuids_[edge.lane], edge.slice, edge.begin ? kSliceBegin : kSliceEnd});
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
    // Where it belongs is all that is known of its place: it is shown as the call begins.
    int64_t time_ns = clock_ns_;
    if (slice.parent < profile_->slices.size()) {
      time_ns = std::max<int64_t>(profile_->slices[slice.parent].start_ns, 0);
    }
    events.push_back({time_ns, DescribeTicks(slice.track), i, kInstant});
  }
  for (uint32_t i = first_counter; i < first_counter + counter_count; ++i) {
    const profile::CounterSample& sample = profile_->counters[i];
    if (sample.time_ns < 0) {
      losses_.Add(Loss::kTimeOutOfRange);
      continue;
    }
    events.push_back({sample.time_ns, DescribeCounter(sample.track), i, kCounter});
  }
  const auto by_time = [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; };
  const auto middle = events.begin() + static_cast<ptrdiff_t>(slices_end);
  std::stable_sort(middle, events.end(), by_time);
  std::inplace_merge(events.begin(), middle, events.end(), by_time);
  return events;
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
  clock_ns_ = time_ns;
}

void Writer::WriteEvent(const Event& event) {
  if (!epoch_open_ || (event.time_ns >= clock_ns_ && event.time_ns - epoch_start_ns_ >= kEpochNs)) {
    BeginEpoch(event.time_ns);
  }
  std::string body;
  {
    pbf_builder<TrackEvent> out{body};
    out.add_enum(TrackEvent::kType, event.type);
    if (event.uuid != default_uuid_) out.add_uint64(TrackEvent::kTrackUuid, event.uuid);
    if (event.type == kCounter) {
      out.add_double(TrackEvent::kDoubleCounterValue, profile_->counters[event.index].value);
    } else if (event.type != kSliceEnd) {
      const Slice& slice = profile_->slices[event.index];
      out.add_uint64(TrackEvent::kNameIid, interner_.EventName(*profile_, slice.name));
      // Packed in the schema, but readers must take, and Perfetto's take, the plain form too:
      // one byte less.
      out.add_uint64(TrackEvent::kCategoryIids, interner_.Category(slice.category));
      WriteArgs(body, event.index);
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
}

void Writer::WriteArgs(std::string& body, uint32_t slice_index) {
  const Profile& profile = *profile_;
  const Slice& slice = profile.slices[slice_index];
  pbf_builder<TrackEvent> out{body};
  if (slice.args < profile.args.size()) {
    const SliceArgs& args = profile.args[slice.args];
    if (args.instruction >= 0) AddInt(out, interner_.Arg(ArgName::kInstruction), args.instruction);
    if (args.chain >= 0) AddInt(out, interner_.Arg(ArgName::kChain), args.chain);
    if (args.delegate_debug_id != -1) {
      AddInt(out, interner_.Arg(ArgName::kDelegateDebugId), args.delegate_debug_id);
    }
    if (args.delegate_debug_name != 0) {
      AddText(out, interner_.Arg(ArgName::kDelegateDebugName),
              interner_.DebugName(profile, args.delegate_debug_name));
    }
    if (args.metadata < profile.metadata.size()) {
      AddText(out, interner_.Arg(ArgName::kMetadata), interner_.Metadata(profile, args.metadata));
    }
  }
  if (const auto run = run_of_.find(slice_index); run != run_of_.end()) {
    WriteRunArgs(body, run->second);
    run_of_.erase(run);
  }
  const Track& track = profile.tracks[slice.track];
  if (track.kind != profile::Kind::kHostWall) {
    AddText(out, interner_.Arg(ArgName::kKind), interner_.Word(profile::KindName(track.kind)));
  }
  if (track.type == TrackType::kEngine) WriteEngineArgs(body, slice);
}

void Writer::WriteRunArgs(std::string& body, uint32_t index) {
  const profile::Run& run = profile_->runs[index];
  pbf_builder<TrackEvent> out{body};
  AddInt(out, interner_.Arg(ArgName::kRun), index);
  AddText(out, interner_.Arg(ArgName::kMode), interner_.Word(profile::RunModeName(run.mode)));
  if (run.group != 0) AddInt(out, interner_.Arg(ArgName::kGroup), run.group);
  if (run.process != 0) AddInt(out, interner_.Arg(ArgName::kProcess), run.process);
  if (run.incomplete) AddInt(out, interner_.Arg(ArgName::kIncomplete), 1);
}

// An engine's slice is shown beside its delegate call, on another track. A reader takes the call at
// its instruction that is running as it starts; where that is another one, it is told.
void Writer::WriteEngineArgs(std::string& body, const Slice& slice) {
  pbf_builder<TrackEvent> out{body};
  const Slice* call = nullptr;
  if (slice.parent < profile_->slices.size()) {
    const Slice& parent = profile_->slices[slice.parent];
    if (parent.category == profile::Category::kDelegateCall && parent.start_ns >= 0) call = &parent;
  }
  if (profile_->tracks[slice.track].in_ticks) {
    AddInt(out, interner_.Arg(ArgName::kStartTicks), slice.start_ns);
    AddInt(out, interner_.Arg(ArgName::kTicks), slice.dur_ns);
    if (call == nullptr) AddInt(out, interner_.Arg(ArgName::kCall), -1);
    return;
  }
  if (slice.category != profile::Category::kDelegateOp) return;
  if (call == nullptr) {
    AddInt(out, interner_.Arg(ArgName::kCall), -1);
  } else if (slice.start_ns < call->start_ns ||
             slice.start_ns - call->start_ns > std::max<int64_t>(call->dur_ns, 0)) {
    AddInt(out, interner_.Arg(ArgName::kCall), call->start_ns);
  }
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
