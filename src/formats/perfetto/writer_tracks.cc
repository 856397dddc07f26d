// Writer's part for tracks: what each is called, and what Perfetto and our reader are told of it.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "formats/perfetto/packet_out.h"
#include "formats/perfetto/track_mark.h"
#include "formats/perfetto/writer.h"

namespace inferprobe::perfetto {
namespace {

using profile::Kind;
using profile::KindText;
using profile::Track;
using profile::TrackType;
using protozero::pbf_builder;

constexpr std::string_view kReported = " (engine-reported, start times not measured)";
constexpr std::string_view kInTicks = " (ticks of an unknown clock, no times)";

bool Fits32(int64_t id) { return id > 0 && id <= std::numeric_limits<int32_t>::max(); }

// Whether reader and kernel can know this thread by its numbers.
bool IsRealThread(const Track& track) {
  return track.type == TrackType::kThread && Fits32(track.pid) && Fits32(track.tid);
}

bool NamesKind(const std::string& name, Kind kind) {
  return name.find(KindText(kind)) != std::string::npos;
}

// What is shown of a track of this name.
std::string LaneName(const Track& track, std::string name, uint32_t ordinal) {
  if (track.in_ticks) {
    if (name.find("ticks of an unknown clock") == std::string::npos) name += kInTicks;
    return name;
  }
  if (track.type == TrackType::kEngine && !NamesKind(name, track.kind)) {
    name += track.kind == Kind::kEngineReported ? std::string(kReported)
                                                : fmt::format(" ({})", KindText(track.kind));
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

}  // namespace

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

}  // namespace inferprobe::perfetto
