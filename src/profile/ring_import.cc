#include "profile/ring_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "profile/engine_track.h"

namespace inferprobe::profile {
namespace {

using record::Cell;
using record::CellType;

constexpr size_t kMaxTracks = 0xFFFF;  // Slice::track has 16 bits
constexpr uint64_t kMaxMetadataBytes = uint64_t{1} << 20;
constexpr size_t kBytesPerCell = 28;

int32_t InstructionOf(uint32_t info24) {
  return info24 == record::kNoInstruction ? -1 : static_cast<int32_t>(info24);
}

// nullopt: this type is no slice in ticks.
std::optional<Category> CategoryOf(CellType type) {
  switch (type) {
    case CellType::kScope:
      return Category::kScope;
    case CellType::kRun:
      return Category::kRun;
    case CellType::kSetInputs:
      return Category::kSetInputs;
    case CellType::kMethod:
      return Category::kMethod;
    case CellType::kOperatorCall:
      return Category::kOperatorCall;
    case CellType::kKernel:
      return Category::kKernel;
    case CellType::kDelegateCall:
      return Category::kDelegateCall;
    case CellType::kLoad:
      return Category::kLoad;
    case CellType::kOther:
      return Category::kOther;
    case CellType::kModuleCall:
      return Category::kModuleCall;
    default:
      return std::nullopt;
  }
}

bool CarriesInstruction(CellType type) {
  return type == CellType::kOperatorCall || type == CellType::kKernel ||
         type == CellType::kDelegateCall || type == CellType::kDelegateOp;
}

}  // namespace

RingImporter::RingImporter(Profile* profile, uint16_t process, EngineTrackName engine_track_name)
    : profile_(profile),
      notes_(profile),
      process_(process),
      engine_track_name_(std::move(engine_track_name)) {
  if (!engine_track_name_) {
    engine_track_name_ = [](int32_t instruction) {
      return instruction < 0
                 ? std::string("delegate outside any instruction (engine-reported)")
                 : fmt::format("delegate at instruction {} (engine-reported)", instruction);
    };
  }
}

void RingImporter::Attach(record::BlockReader reader) {
  reader_ = std::move(reader);
  const record::BlockFacts& facts = reader_->facts();
  rings_.assign(facts.ring_count, {});
  names_.clear();
  counter_tracks_.clear();
  participant_tracks_.clear();
  operators_.emplace(profile_, facts.pid);
  stretch_ring_ = kNone;
  no_ring_ = 0;
  names_lost_ = 0;

  ClockFacts& clock = profile_->clock;
  clock.source = facts.tsc ? "tsc" : "clock_gettime";
  clock.tick_ns = facts.tick_ns;
  clock.read_cost_ps = std::llround(facts.clock_read_ns * 1000);
  clock.realtime_minus_monotonic_ns = facts.realtime_minus_monotonic_ns;
  clock.boottime_minus_monotonic_ns = facts.boottime_minus_monotonic_ns;
  if (profile_->run_id.empty()) profile_->run_id = base::RepairUtf8(facts.run_id).text;
  if (profile_->process_name.empty()) {
    profile_->process_name = base::RepairUtf8(facts.process_name).text;
  }
}

DrainedRange RingImporter::Drain() {
  DrainedRange range;
  range.first_slice = static_cast<uint32_t>(profile_->slices.size());
  range.first_run = static_cast<uint32_t>(profile_->runs.size());
  range.first_counter = static_cast<uint32_t>(profile_->counters.size());
  if (reader_) {
    for (uint32_t i = 0; i < rings_.size(); ++i) DrainRing(i);
    if (operators_->pending()) operators_->Finish(range.first_slice);  // of no run
    const uint64_t no_ring = reader_->NoRing();
    profile_->losses.Add(Loss::kNoRing, no_ring - std::exchange(no_ring_, no_ring));
    const uint64_t names_lost = reader_->NamesLost();
    profile_->losses.Add(Loss::kNameTableFull, names_lost - std::exchange(names_lost_, names_lost));
  }
  range.slice_count = static_cast<uint32_t>(profile_->slices.size()) - range.first_slice;
  range.run_count = static_cast<uint32_t>(profile_->runs.size()) - range.first_run;
  range.counter_count = static_cast<uint32_t>(profile_->counters.size()) - range.first_counter;
  return range;
}

void RingImporter::DrainRing(uint32_t index) {
  Ring& ring = rings_[index];
  const record::BlockReader::Cells cells = reader_->Unread(index);
  const uint64_t dropped = reader_->Dropped(index);
  profile_->losses.Add(Loss::kRingDropped, dropped - std::exchange(ring.dropped, dropped));
  if (cells.damaged && !std::exchange(ring.damaged, true)) {
    profile_->losses.Add(Loss::kDamagedRecord);
  }
  if (cells.begin == cells.end) return;

  if (ring.track == kNone || ring.owner != cells.owner) {
    std::string name = base::RepairUtf8(cells.thread_name).text;
    if (name.empty()) name = fmt::format("thread {}", cells.tid);
    Track track;
    track.name = std::move(name);
    track.pid = reader_->facts().pid;
    track.tid = cells.tid;
    const uint64_t counted = ring.dropped;
    ring = {};
    ring.dropped = counted;
    ring.owner = cells.owner;
    ring.track = AddTrack(std::move(track));
  }
  if (stretch_ring_ != index || stretch_end_ != profile_->slices.size()) {
    stretch_ring_ = index;
    stretch_begin_ = profile_->slices.size();
  }
  for (uint64_t at = cells.begin; at != cells.end;) at += ReadGroup(ring, cells, at);
  stretch_end_ = profile_->slices.size();
  reader_->Consume(index, cells.end);
}

uint64_t RingImporter::ReadGroup(Ring& ring, const record::BlockReader::Cells& cells, uint64_t at) {
  const Cell cell = cells.At(at);
  const CellType type = TypeOf(cell);
  uint64_t used = 1;
  if (type == CellType::kRegion) return ReadRegion(ring, cells, at);

  SliceArgs args;
  if (CarriesInstruction(type)) args.instruction = InstructionOf(Info24(cell));
  if (type == CellType::kModuleCall) {
    args.module = Info24(cell) & ~record::kModuleRaised;
    args.raised = (Info24(cell) & record::kModuleRaised) != 0;
  }
  if (at + 1 != cells.end) {
    if (const Cell extension = cells.At(at + 1); TypeOf(extension) == CellType::kExtension) {
      ++used;
      args.delegate_debug_id = static_cast<int32_t>(static_cast<uint32_t>(extension.start));
      args.chain = static_cast<int32_t>(static_cast<uint32_t>(extension.start >> 32));
      args.delegate_debug_name = Name(extension.name);
      if (extension.id < record::kNoInstruction) {
        args.instruction = static_cast<int32_t>(extension.id);
      }
      std::string metadata;
      while (metadata.size() < extension.parent && at + used != cells.end) {
        const Cell bytes = cells.At(at + used);
        if (TypeOf(bytes) != CellType::kBytes) break;
        ++used;
        const size_t wanted = std::min<size_t>(kBytesPerCell, extension.parent - metadata.size());
        if (metadata.size() < kMaxMetadataBytes) {
          metadata.append(reinterpret_cast<const char*>(&bytes), wanted);
        }
      }
      if (metadata.size() < extension.parent) profile_->losses.Add(Loss::kMetadataCut);
      if (!metadata.empty()) {
        const auto next = static_cast<uint32_t>(profile_->metadata.size());
        const auto [place, fresh] = metadata_.try_emplace(metadata, next);
        if (fresh) profile_->metadata.push_back(std::move(metadata));
        args.metadata = place->second;
      }
    }
  }
  const uint32_t args_index = args == SliceArgs{} ? kNone : profile_->AddArgs(args);

  if (const std::optional<Category> category = CategoryOf(type)) {
    AddTicksSlice(ring, cell, *category, args_index);
    return used;
  }
  switch (type) {
    case CellType::kDelegateOp:
      AddEngineSlice(ring, cell, args.instruction, args_index);
      break;
    case CellType::kCounter:
      AddCounter(cell);
      break;
    case CellType::kOperator:
      AddOperator(cell);
      break;
    case CellType::kAllocation:
      AddAllocation(cell);
      break;
    case CellType::kDeviceWork:
      AddDeviceWork(cell);
      break;
    case CellType::kRunFacts:
      AddRunFacts(ring, cell);
      break;
    case CellType::kLoss:
      if (Info24(cell) < static_cast<uint32_t>(Loss::kCount)) {
        profile_->losses.Add(static_cast<Loss>(Info24(cell)), cell.start);
      } else {
        profile_->losses.Add(Loss::kDamagedRecord);
      }
      break;
    default:  // no type, or what belongs to a cell that is not there
      profile_->losses.Add(Loss::kDamagedRecord);
  }
  return used;
}

std::optional<Slice> RingImporter::Timed(const Cell& cell, std::optional<int64_t> start,
                                         std::optional<int64_t> end) {
  if (cell.start == 0 && cell.end == 0) {
    profile_->losses.Add(Loss::kZeroTimes);
    return std::nullopt;
  }
  if (!start || !end) {
    profile_->losses.Add(Loss::kDamagedRecord);
    return std::nullopt;
  }
  if (*end < *start) {
    profile_->losses.Add(Loss::kEndBeforeStart);
    return std::nullopt;
  }
  Slice slice;
  slice.start_ns = *start;
  slice.dur_ns = *end - *start;
  slice.name = Name(cell.name);
  return slice;
}

void RingImporter::AddTicksSlice(Ring& ring, const Cell& cell, Category category, uint32_t args) {
  const record::BlockFacts& facts = reader_->facts();
  std::optional<Slice> slice = Timed(cell, facts.ToNs(cell.start), facts.ToNs(cell.end));
  if (category == Category::kRun) ring.last_run = kNone;  // so that its facts go to no other run
  if (!slice) {
    if (category == Category::kRun) EndRun(stretch_begin_);
    return;
  }
  slice->track = static_cast<uint16_t>(ring.track);
  slice->category = category;
  slice->args = args;
  if (category == Category::kRun && cell.name == 0) slice->name = profile_->strings.Intern("run");
  // Loading a delegate: until a run ends in which it was done.
  if (category == Category::kOther && notes_.IsHostWall(*slice, kDelegateLoad)) {
    slice->category = Category::kLoad;
    ring.loads.push_back(static_cast<uint32_t>(profile_->slices.size()));
  }
  AddSlice(ring, cell, *slice);
  if (category == Category::kRun) AddRun(ring, cell, *slice);
}

uint32_t RingImporter::EngineTrack(Ring& ring, int32_t instruction, const DelegateNote* note) {
  const Kind kind = note != nullptr ? note->kind : Kind::kEngineReported;
  std::string clock = note != nullptr ? ShortClockName(note->clock) : "";
  auto [place, fresh] =
      ring.engine_tracks.try_emplace({instruction, kind, std::move(clock)}, kNone);
  if (!fresh) return place->second;
  Track track;
  track.name = engine_track_name_(instruction);
  if (kind != Kind::kEngineReported) {
    track.name = NameOfEngineTrack(DelegateOfTrack(track.name), kind, std::get<2>(place->first));
  }
  track.type = TrackType::kEngine;
  track.kind = kind;
  track.pid = reader_->facts().pid;
  track.parent = ring.track;
  return place->second = AddTrack(std::move(track));
}

void RingImporter::AddEngineSlice(Ring& ring, const Cell& cell, int32_t instruction,
                                  uint32_t args) {
  std::optional<Slice> slice = TimedInNs(cell);
  if (!slice) return;
  slice->category = Category::kDelegateOp;
  slice->args = args;
  const DelegateNote* note = notes_.Of(*slice);
  // Host wall time has no place on an engine's track; only a damaged record says so.
  if (note != nullptr && note->IsHostWall()) note = nullptr;
  // A device's time may come after its call, and says of which it is.
  const bool device = note != nullptr && note->kind == Kind::kDevice;
  if (cell.parent == 0 && !device) profile_->losses.Add(Loss::kEngineOpsOutsideCall);
  slice->track = static_cast<uint16_t>(EngineTrack(ring, instruction, note));
  AddSlice(ring, cell, *slice);
}

void RingImporter::AddSlice(Ring& ring, const Cell& cell, const Slice& slice) {
  const auto index = static_cast<uint32_t>(profile_->slices.size());
  profile_->slices.push_back(slice);
  if (cell.id != 0 && slice.category != Category::kDelegateOp) {
    if (std::exchange(ring.ended_sorted, false)) ring.ended.clear();
    ring.ended.emplace_back(cell.id, index);
  }
  // Everything opened inside this slice has ended. What names it as parent is its child; what names
  // a parent that was opened inside it, too: that one's event was dropped. An older parent: the two
  // overlap without nesting, and it waits for its own.
  if (cell.id != 0 && slice.category != Category::kDelegateOp) {
    // What a delegate reports is of its call, wherever in the call it was reported: the kit's event
    // of the whole host side is no call of its own.
    const bool in_call = cell.parent != 0 && slice.category == Category::kOther &&
                         notes_.IsHostWall(slice, kWholeCall);
    reports_.clear();
    while (!ring.waiting.empty() && OpenedNotBefore(ring.waiting.back().parent_id, cell.id)) {
      const uint32_t inner = ring.waiting.back().slice;
      ring.waiting.pop_back();
      if (in_call && profile_->slices[inner].category == Category::kDelegateOp) {
        reports_.push_back(inner);
      } else {
        uint32_t& parent = profile_->slices[inner].parent;
        if (parent == kNone) parent = index;  // else an operator came between
      }
    }
    for (auto report = reports_.rbegin(); report != reports_.rend(); ++report) {
      ring.waiting.push_back({*report, cell.parent});
    }
  }
  if (cell.parent != 0) ring.waiting.push_back({index, cell.parent});
}

void RingImporter::AddRun(Ring& ring, const Cell& cell, const Slice& slice) {
  const uint32_t mode = Info24(cell) & 0xF;
  if (mode > static_cast<uint32_t>(RunMode::kProfiled)) {
    profile_->losses.Add(Loss::kDamagedRecord);
    EndRun(stretch_begin_);
    return;
  }
  // Its slices are the last ones: back to the first that did not start inside. Engine-reported
  // times are made up and do not count here.
  const std::vector<Slice>& slices = profile_->slices;
  const auto is_inside = [&](const Slice& one) {
    const bool timed_here = one.track == ring.track || one.category == Category::kRegion ||
                            one.category == Category::kRegionPart;
    return !timed_here || one.start_ns >= slice.start_ns;
  };
  size_t first = slices.size() - 1;
  while (first > stretch_begin_ && is_inside(slices[first - 1])) --first;
  ring.ended.clear();
  EndRun(first);
  for (; !ring.loads.empty() && ring.loads.back() >= first; ring.loads.pop_back()) {
    profile_->slices[ring.loads.back()].category = Category::kOther;
  }
  Run run;
  run.mode = static_cast<RunMode>(mode);
  run.group = Info24(cell) >> 4;
  run.process = process_;
  run.start_ns = slice.start_ns;
  run.dur_ns = slice.dur_ns;
  run.first_slice = static_cast<uint32_t>(first);
  run.slice_count = static_cast<uint32_t>(slices.size() - first);
  ring.last_run = static_cast<uint32_t>(profile_->runs.size());
  profile_->runs.push_back(run);
}

// What waited for the run is in it, or, where it is none, at least in no other.
void RingImporter::EndRun(size_t first_slice) {
  if (operators_->pending()) operators_->Finish(static_cast<uint32_t>(first_slice));
  stretch_begin_ = profile_->slices.size();
}

void RingImporter::AddRunFacts(Ring& ring, const Cell& cell) {
  if (ring.last_run == kNone) {
    profile_->losses.Add(Loss::kUnbalancedEnd);
    return;
  }
  profile_->runs[ring.last_run].incomplete = Info24(cell) == 1;
  RunDisturbance& disturbance = profile_->runs[ring.last_run].disturbance;
  disturbance.run_queue_delay_ns = static_cast<int64_t>(cell.start);
  disturbance.involuntary_switches = static_cast<uint32_t>(cell.end >> 32);
  disturbance.voluntary_switches = static_cast<uint32_t>(cell.end);
  disturbance.minor_faults = cell.id;
  disturbance.major_faults = cell.parent;
}

void RingImporter::AddCounter(const Cell& cell) {
  const std::optional<int64_t> time = reader_->facts().ToNs(cell.start);
  if (!time) {
    profile_->losses.Add(Loss::kDamagedRecord);
    return;
  }
  // By the text: two places in the code may feed one counter.
  const StringId name = Name(cell.name);
  auto [place, fresh] = counter_tracks_.try_emplace(name, kNone);
  if (fresh) {
    Track track;
    track.name = std::string(profile_->strings.Get(name));
    track.type = TrackType::kCounter;
    track.pid = reader_->facts().pid;
    place->second = AddTrack(std::move(track));
  }
  CounterSample sample;
  sample.time_ns = *time;
  sample.track = static_cast<uint16_t>(place->second);
  std::memcpy(&sample.value, &cell.end, sizeof sample.value);
  profile_->counters.push_back(sample);
}

uint32_t RingImporter::AddTrack(Track track) {
  if (profile_->tracks.size() > kMaxTracks) {  // only a damaged record names so many
    profile_->losses.Add(Loss::kDamagedRecord);
    return kMaxTracks;
  }
  profile_->tracks.push_back(std::move(track));
  return static_cast<uint32_t>(profile_->tracks.size() - 1);
}

StringId RingImporter::Name(uint32_t id) {
  if (id < names_.size() && names_[id] != kNone) return names_[id];
  const std::optional<std::string_view> name = reader_->Name(id);
  if (!name) return profile_->strings.Intern("(name lost)");
  base::RepairedText repaired = base::RepairUtf8(*name);
  if (repaired.bad_bytes > 0) profile_->losses.Add(Loss::kInvalidUtf8);
  if (id >= names_.size()) names_.resize(id + 1, kNone);
  names_[id] = profile_->strings.Intern(repaired.text);
  return names_[id];
}

Result<Recording> ReadMappedFile(const std::string& path) {
  Result<base::MappedFile> file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  auto recording = ReadMappedBytes(file->bytes(), path);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  return recording;
}

Result<Recording> ReadMappedBytes(std::string_view bytes, const std::string& name) {
  Result<record::BlockReader> reader =
      record::BlockReader::Open(std::as_bytes(std::span(bytes.data(), bytes.size())), name,
                                record::BlockReader::Access::kReadOnly);
  if (!reader) return tl::unexpected(reader.error());
  Recording recording;
  recording.source.path = name;
  recording.source.format = "rings";
  recording.source.title = "inferprobe recording";
  recording.source.bytes = bytes.size();
  if (const double event_ns = reader->facts().event_ns; event_ns > 0) {
    recording.event_cost_ns = event_ns;
  }
  RingImporter importer(&recording.profile, 0);
  importer.Attach(*std::move(reader));
  importer.Drain();
  // A module is a place in its model's tree, and a file of rings holds no model. Names stay.
  for (SliceArgs& args : recording.profile.args) args.module = kNone;
  return recording;
}

}  // namespace inferprobe::profile
