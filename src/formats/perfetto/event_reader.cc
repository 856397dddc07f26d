// PacketReader's part for track events.

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/packet_reader.h"

namespace inferprobe::perfetto {

using profile::kNone;
using profile::Loss;
using profile::RunMode;
using profile::SliceArgs;

namespace {

int32_t Narrow(int64_t number, int32_t otherwise) {
  const bool fits = number >= std::numeric_limits<int32_t>::min() &&
                    number <= std::numeric_limits<int32_t>::max();
  return fits ? static_cast<int32_t>(number) : otherwise;
}

std::optional<RunMode> ModeOf(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(RunMode::kProfiled); ++i) {
    if (text == profile::RunModeName(static_cast<RunMode>(i))) return static_cast<RunMode>(i);
  }
  return std::nullopt;
}

Phase PhaseOf(const RawEvent& event) {
  switch (event.type) {
    case 0:
      return event.legacy;
    case kSliceBegin:
      return Phase::kBegin;
    case kSliceEnd:
      return Phase::kEnd;
    case kInstant:
      return Phase::kInstant;
    case kCounter:
      return Phase::kCounter;
    default:
      return Phase::kOther;
  }
}

// What it is counted as, when it is not read.
std::string EventText(const RawEvent& event) {
  if (event.type == kInstant || event.legacy == Phase::kInstant) return "track_event: instant";
  if (event.type != 0) return fmt::format("track_event: type {}", event.type);
  if (event.legacy_phase > ' ' && event.legacy_phase < 0x7F) {
    return fmt::format("track_event: phase {}", event.legacy_phase);
  }
  return event.legacy_phase == 0 ? "track_event: no type" : "track_event: unknown phase";
}

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

std::optional<std::string> FromHex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexDigit(digits[i]);
    const int low = HexDigit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace

// The arguments that our writer gives to slices.
struct PacketReader::OwnArgs {
  SliceArgs slice;
  RunFacts run;
  std::optional<int64_t> number;  // of a run
  bool has_mode = false;          // only runs have one
  int64_t parent = 0;
  std::optional<int64_t> call_ns;
  std::optional<int64_t> start_ticks;
  std::optional<int64_t> ticks;
  std::optional<int64_t> bytes;
  bool lost = false;

  [[nodiscard]] bool IsRun() const {
    return has_mode && number && *number >= 0 && *number < int64_t{kNone};
  }
};

bool PacketReader::ReadEvent(const RawPacket& packet, Sequence& sequence) {
  // An incremental clock goes on with every packet that uses it.
  const uint32_t clock = packet.clock.value_or(sequence.default_clock);
  Clocks::Time time;
  if (packet.timestamp) time = clocks_.ToMain(clock, packet.sequence, *packet.timestamp);
  if (packet.event.data() == nullptr) return true;
  if (!ParseEvent(packet.event, event_)) return false;
  if (!packet.timestamp) time = TimeOfEvent(packet.sequence, sequence);
  if (time.problem != Clocks::Problem::kNone) {
    Lose(time.problem == Clocks::Problem::kUnknownClock ? Loss::kUnknownClock
                                                        : Loss::kTimeOutOfRange);
    return true;
  }
  if (event_.extra_counters) CountUnread("track_event: extra counter values");
  const uint32_t slot = SlotOf(sequence);
  const Phase phase = PhaseOf(event_);
  switch (phase) {
    case Phase::kInstant:
      if (tracks_.HoldsNotes(slot)) return ReadNotesEvent(sequence);
      if (tracks_.HoldsRuns(slot)) return ReadRunMark(time.ns, sequence);
      if (const TrackMark* mark = tracks_.MarkOf(slot); mark == nullptr || !mark->in_ticks) break;
      [[fallthrough]];
    case Phase::kBegin:
    case Phase::kComplete:
      return ReadSlice(phase, time.ns, slot, sequence);
    case Phase::kEnd:
      if (const uint32_t track = TrackOf(slot, false); track != kNone) {
        slices_.End(time.ns, track);
      }
      return true;
    case Phase::kCounter:
      if (const Tracks::Memory memory = tracks_.MemoryOf(slot); memory != Tracks::Memory::kNone) {
        return ReadAllocation(time.ns, memory == Tracks::Memory::kDevice, sequence);
      }
      if (!event_.counter) break;
      AddCounter(time.ns, slot, packet.sequence, sequence);
      return true;
    case Phase::kNone:
    case Phase::kOther:
      break;
  }
  CountUnread(EventText(event_));
  return true;
}

// Before packets had timestamps, events counted microseconds of CLOCK_MONOTONIC.
Clocks::Time PacketReader::TimeOfEvent(uint32_t sequence_id, Sequence& sequence) {
  int64_t us = 0;
  if (event_.absolute_us) {
    us = *event_.absolute_us;
  } else if (event_.delta_us) {
    if (__builtin_add_overflow(sequence.reference_us, *event_.delta_us, &us)) {
      return {0, Clocks::Problem::kOutOfRange};
    }
    sequence.reference_us = us;
  } else {
    return {0, Clocks::Problem::kNone};  // a packet without a time has time 0
  }
  int64_t ns = 0;
  if (us < 0 || __builtin_mul_overflow(us, int64_t{1000}, &ns)) {
    return {0, Clocks::Problem::kOutOfRange};
  }
  return clocks_.ToMain(ClockId::kMonotonic, sequence_id, static_cast<uint64_t>(ns));
}

uint32_t PacketReader::SlotOf(const Sequence& sequence) {
  const uint64_t uuid = event_.track_uuid.value_or(sequence.default_track);
  if (uuid != 0) return tracks_.OfUuid(uuid);
  if (event_.pid || event_.tid || sequence.has_thread) {
    return tracks_.OfThread(event_.pid.value_or(sequence.pid), event_.tid.value_or(sequence.tid));
  }
  return tracks_.OfUuid(0);
}

uint32_t PacketReader::TrackOf(uint32_t slot, bool counter) {
  const uint32_t track = tracks_.ForEvents(slot, counter);
  if (track == kNone) Lose(Loss::kTooLarge);
  return track;
}

bool PacketReader::ReadSlice(Phase phase, int64_t time_ns, uint32_t slot, Sequence& sequence) {
  SliceEvent slice;
  slice.time_ns = time_ns;
  slice.track = TrackOf(slot, false);
  if (slice.track == kNone) return true;
  if (event_.name_iid == 0) {
    slice.name = texts_.Intern(event_.name);
  } else if (const auto* name = sequence.Find(&InternedTables::names, event_.name_iid)) {
    slice.name = *name;
  } else {
    slice.lost = true;
  }
  OwnArgs own;
  if (tracks_.MarkOf(slot) != nullptr) {
    if (!ReadOwnArgs(sequence, own)) return false;
    const auto* category = sequence.Find(&InternedTables::categories, event_.category_iid);
    // Each of ours has one. Without it the slice would stand in another row.
    if (category != nullptr) slice.category = *category;
    if (slice.category != profile::Category::kModuleCall) {
      own.slice.module = kNone;
      own.slice.raised = false;
    }
    if (region_args_.any) TakeRegion(slot, slice, own);
    if (slice.args == kNone && own.slice != SliceArgs{}) {
      slice.args = profile_->AddArgs(own.slice);
    }
    if (own.IsRun() && slice.category == profile::Category::kRun) {
      slice.run = own.run;
    } else {
      slice.member_of = own.number;
    }
    slice.call_ns = own.call_ns;
    slice.parent = own.parent;
    slice.lost = slice.lost || own.lost || (category == nullptr && event_.category_iid != 0);
  }
  if (slice.lost) Lose(Loss::kLostState);
  if (phase == Phase::kInstant) {
    if (!own.start_ticks || !own.ticks) return false;
    slices_.Ticks(slice, *own.start_ticks, *own.ticks);
  } else if (phase == Phase::kBegin) {
    slices_.Begin(slice);
  } else {
    int64_t dur_ns = 0;
    if (__builtin_mul_overflow(event_.duration_us, int64_t{1000}, &dur_ns)) {
      profile_->losses.Add(Loss::kTimeOutOfRange);
    } else {
      slices_.Complete(slice, dur_ns);
    }
  }
  return true;
}

// Only what stands where our writer puts it is a region, or a part in one.
void PacketReader::TakeRegion(uint32_t slot, SliceEvent& slice, const OwnArgs& own) {
  const profile::TrackType type = tracks_.MarkOf(slot)->type;
  SliceArgs args = own.slice;
  if (type == profile::TrackType::kRegions && slice.category == profile::Category::kRegion) {
    args.region = static_cast<uint32_t>(profile_->regions.size());
    profile_->regions.push_back(region_args_.region);
  } else if (type == profile::TrackType::kParticipant &&
             slice.category == profile::Category::kRegionPart) {
    args.region_part = static_cast<uint32_t>(profile_->region_parts.size());
    region_args_.part.region = kNone;  // until LinkRegionParts()
    profile_->region_parts.push_back(region_args_.part);
  }
  if (args == own.slice) return;
  // No two are alike: nothing to be found again.
  slice.args = static_cast<uint32_t>(profile_->args.size());
  profile_->args.push_back(args);
}

// Parts are in the region of the slice that they are in; one whose region is gone says nothing.
void PacketReader::LinkRegionParts() {
  for (profile::Slice& slice : profile_->slices) {
    if (slice.args == kNone) continue;
    const uint32_t part = profile_->args[slice.args].region_part;
    if (part == kNone) continue;
    uint32_t region = kNone;
    if (slice.parent != kNone && profile_->slices[slice.parent].args != kNone) {
      region = profile_->args[profile_->slices[slice.parent].args].region;
    }
    profile_->region_parts[part].region = region;
    if (region == kNone) slice.args = kNone;
  }
}

void PacketReader::AddCounter(int64_t time_ns, uint32_t slot, uint32_t sequence_id,
                              const Sequence& sequence) {
  const std::optional<double> value =
      tracks_.CounterValue(slot, sequence_id, sequence.generation, *event_.counter);
  if (!value) {
    profile_->losses.Add(Loss::kLostState);
    return;
  }
  const uint32_t track = TrackOf(slot, true);
  if (track == kNone) return;
  profile_->counters.push_back({time_ns, *value, static_cast<uint16_t>(track)});
}

// Text of an argument, by number or not; a number that is not there makes the slice a lost one.
std::string_view PacketReader::ValueOf(const RawAnnotation& annotation, Sequence& sequence,
                                       OwnArgs& own) {
  if (annotation.text_iid == 0) return annotation.text;
  const auto* id = sequence.Find(&InternedTables::values, annotation.text_iid);
  if (id != nullptr) return values_.Get(*id);
  own.lost = true;
  return {};
}

// Of a mode that cannot be read, a run is in no figure: not in the latency, not in the rows.
void PacketReader::ReadMode(std::string_view text, OwnArgs& own) {
  own.has_mode = true;
  if (const std::optional<RunMode> mode = ModeOf(text)) {
    own.run.mode = *mode;
    return;
  }
  own.lost = true;
  own.run.mode = RunMode::kProfiled;
  own.run.incomplete = true;
  own.run.why = Loss::kLostState;
}

bool PacketReader::ReadOwnArgs(Sequence& sequence, OwnArgs& own) {
  RawAnnotation annotation;
  if (region_args_.any) region_args_ = {};
  for (const std::string_view message : event_.annotations) {
    if (!ParseAnnotation(message, annotation)) return false;
    const auto* name = sequence.Find(&InternedTables::args, annotation.name_iid);
    if (name == nullptr) continue;
    const int64_t number = annotation.number.value_or(-1);
    switch (*name) {
      case ArgName::kInstruction:
        own.slice.instruction = Narrow(number, -1);
        break;
      case ArgName::kChain:
        own.slice.chain = Narrow(number, -1);
        break;
      case ArgName::kDelegateDebugId:
        own.slice.delegate_debug_id = Narrow(number, -1);
        break;
      case ArgName::kDelegateDebugName:
        own.slice.delegate_debug_name = texts_.Intern(ValueOf(annotation, sequence, own));
        break;
      case ArgName::kMetadata:
        own.slice.metadata = MetadataOf(ValueOf(annotation, sequence, own));
        break;
      case ArgName::kRun:
        own.number = number;
        own.run.index = static_cast<uint32_t>(number);
        break;
      case ArgName::kMode:
        ReadMode(ValueOf(annotation, sequence, own), own);
        break;
      case ArgName::kGroup:
        own.run.group = static_cast<uint32_t>(Narrow(number, 0));
        break;
      case ArgName::kProcess:
        own.run.process = static_cast<uint16_t>(number);
        break;
      case ArgName::kIncomplete:
        own.run.incomplete = own.run.incomplete || number != 0;
        break;
      case ArgName::kWhy:
        own.run.why = profile::LossNamed(ValueOf(annotation, sequence, own)).value_or(own.run.why);
        break;
      case ArgName::kStart:
        own.run.start_ns = number;
        break;
      case ArgName::kDur:
        own.run.dur_ns = number;
        break;
      case ArgName::kSlices:
        if (number >= 0 && number < int64_t{kNone}) own.run.slices = static_cast<uint32_t>(number);
        break;
      case ArgName::kParent:
        own.parent = number;
        break;
      case ArgName::kCall:
        own.call_ns = number;
        break;
      case ArgName::kStartTicks:
        own.start_ticks = number;
        break;
      case ArgName::kTicks:
        own.ticks = number;
        break;
      case ArgName::kModule:
        if (number >= 0 && number < int64_t{kNone})
          own.slice.module = static_cast<uint32_t>(number);
        break;
      case ArgName::kRaised:
        own.slice.raised = number != 0;
        break;
      case ArgName::kBytes:
        own.bytes = annotation.number;
        break;
      case ArgName::kKind:
        break;  // the track says it
      default:
        region_args_.Read(*name, number, ValueOf(annotation, sequence, own), texts_);
    }
  }
  return true;
}

uint32_t PacketReader::MetadataOf(std::string_view digits) {
  const auto [at, is_new] = metadata_.try_emplace(std::string(digits), kNone);
  if (!is_new) return at->second;
  const std::optional<std::string> bytes = FromHex(digits);
  if (!bytes) {
    profile_->losses.Add(Loss::kDamagedPacket);
    return kNone;
  }
  at->second = static_cast<uint32_t>(profile_->metadata.size());
  profile_->metadata.push_back(*bytes);
  return at->second;
}

// The sample's own value is a sum, for people: what is lost before it would be in it.
bool PacketReader::ReadAllocation(int64_t time_ns, bool device, Sequence& sequence) {
  OwnArgs own;
  if (!ReadOwnArgs(sequence, own)) return false;
  if (!own.bytes) {
    Lose(Loss::kLostState);
    return true;
  }
  slices_.AddAllocation({.time_ns = time_ns, .bytes = *own.bytes, .device = device}, own.parent);
  return true;
}

bool PacketReader::ReadNotesEvent(Sequence& sequence) {
  RawAnnotation annotation;
  OwnArgs own;
  for (const std::string_view message : event_.annotations) {
    if (!ParseAnnotation(message, annotation)) return false;
    const std::string_view text = ValueOf(annotation, sequence, own);
    notes_.emplace_back(profile_->strings.Get(texts_.Intern(annotation.name)),
                        profile_->strings.Get(texts_.Intern(text)));
  }
  tracks_.EndOwn();
  return true;
}

bool PacketReader::ReadRunMark(int64_t time_ns, Sequence& sequence) {
  OwnArgs own;
  if (!ReadOwnArgs(sequence, own)) return false;
  if (!own.IsRun()) return false;
  if (own.lost) Lose(Loss::kLostState);
  slices_.MarkRun(own.run, time_ns);
  return true;
}

}  // namespace inferprobe::perfetto
