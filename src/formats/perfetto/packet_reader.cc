#include "formats/perfetto/packet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/inflate.h"
#include "formats/perfetto/packet_fields.h"
#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {

using profile::Loss;

namespace {

// What all compressed packets of a file may inflate to: traces shrink to about a tenth.
constexpr uint64_t kInflateRatio = 100;

bool IsCut(std::string_view varint) {
  return varint.size() < 10 &&
         std::all_of(varint.begin(), varint.end(), [](char byte) { return (byte & 0x80) != 0; });
}

}  // namespace

PacketReader::PacketReader(profile::Recording* recording, uint64_t file_bytes)
    : recording_(recording),
      profile_(&recording->profile),
      inflate_budget_(kMaxInflatedBytes + kInflateRatio * file_bytes),
      texts_(&profile_->strings, &profile_->losses),
      tracks_(&texts_),
      slices_(profile_) {}

size_t PacketReader::ReadAll(std::string_view trace, const std::function<void(size_t)>& progress) {
  std::string_view rest = trace;
  while (!rest.empty() && !second_trace_) {
    const std::string_view here = rest;
    const size_t at = trace.size() - here.size();
    uint64_t key = 0;
    uint64_t size = 0;
    if (rest.front() == '\0') {
      // Room that was never written to, in a file that was made larger beforehand, or by a crash.
      const size_t zeros = std::min(rest.find_first_not_of('\0'), rest.size());
      rest.remove_prefix(zeros);
      SkipBytes("zero bytes", at, zeros);
    } else if (!TakeVarint(rest, key) || key < 8 ||
               (key == BytesKey(Trace::kPacket) && !TakeVarint(rest, size))) {
      const bool cut = IsCut(rest.substr(0, 10)) || (IsCut(here.substr(0, 10)));
      Lose(cut ? Loss::kTruncatedFile : Loss::kDamagedPacket);
      if (!cut) SkipBytes("bytes that are no packet", at, here.size());
      return at;
    } else if (key == BytesKey(Trace::kPacket)) {
      if (size > rest.size()) {
        Lose(Loss::kTruncatedFile);
        return at;
      }
      Read(rest.substr(0, size));
      rest.remove_prefix(size);
      if (second_trace_) {
        if (!inside_compressed_)
          unread_[fmt::format("bytes of a second trace, from byte {}", at)] = here.size();
        return at;
      }
    } else {
      // No packet. What it is by its own account is skipped.
      Lose(Loss::kDamagedPacket);
      Fields other(here);
      if (!other.Next()) {
        SkipBytes("bytes that are no packet", at, here.size());
        return at;
      }
      rest = other.rest();
    }
    if (progress) progress(trace.size() - rest.size());
  }
  return trace.size() - rest.size();
}

void PacketReader::Lose(Loss loss) {
  profile_->losses.Add(loss);
  slices_.Damage();
}

// Says where the first of them are: the table of statistics has only a count.
void PacketReader::SkipBytes(std::string_view what, size_t from, size_t count) {
  profile_->losses.Add(Loss::kUnreadBytes, count - 1);
  Lose(Loss::kUnreadBytes);
  auto at = skipped_.find(what);
  if (at == skipped_.end()) {
    const std::string where =
        inside_compressed_ ? "of a compressed packet" : fmt::format("from byte {}", from);
    at = skipped_.emplace(what, fmt::format("{}, {}", what, where)).first;
  }
  unread_[at->second] += count;
}

void PacketReader::Read(std::string_view message) {
  RawPacket packet;
  if (!ParsePacket(message, packet) || !Handle(packet)) Lose(Loss::kDamagedPacket);
}

bool PacketReader::Handle(const RawPacket& packet) {
  Sequence& sequence = sequences_[packet.sequence];
  if (packet.dropped_before) sequence.valid = false;
  if ((packet.flags & kIncrementalStateCleared) != 0) sequence.Clear();
  std::vector<uint32_t> others = packet.others;
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (const uint32_t number : others) CountUnread(PacketFieldName(number));

  const auto has = [](std::string_view field) { return field.data() != nullptr; };
  if (has(packet.compressed) && !Inflated(packet.compressed)) return false;
  if (has(packet.uuid) && !ReadUuid(packet.uuid)) return false;
  if (has(packet.track)) {
    const Tracks::Described described = tracks_.Describe(packet.track, packet.sequence);
    if (described == Tracks::Described::kDamaged) return false;
    if (described == Tracks::Described::kTwice) {
      // Ours has one sequence: what follows would be taken for more of the first.
      second_trace_ = true;
      profile_->losses.Add(Loss::kSecondTrace);
      return true;
    }
  }
  if (has(packet.thread) && !ReadThreadDescriptor(packet.thread, sequence)) return false;
  if (has(packet.snapshot) && !clocks_.AddSnapshot(packet.snapshot, packet.sequence)) return false;
  if ((packet.flags & kNeedsIncrementalState) != 0 && !sequence.valid) {
    if (has(packet.event)) Lose(Loss::kLostState);
    return true;
  }
  if (has(packet.defaults) && !ReadDefaults(packet.defaults, sequence)) return false;
  if (has(packet.interned) && !ReadInterned(packet.interned, sequence)) return false;
  return ReadEvent(packet, sequence);
}

bool PacketReader::Inflated(std::string_view deflated) {
  if (inside_compressed_) return false;
  const auto limit = static_cast<size_t>(std::min<uint64_t>(inflate_budget_, kMaxInflatedBytes));
  const std::optional<std::string> trace = Inflate(deflated, limit);
  if (!trace) return false;
  inflate_budget_ -= trace->size();
  inside_compressed_ = true;
  ReadAll(*trace);
  inside_compressed_ = false;
  return true;
}

bool PacketReader::ReadThreadDescriptor(std::string_view message, Sequence& sequence) {
  Fields thread(message);
  while (thread.Next()) {
    switch (thread.key()) {
      case VarintKey(ThreadDescriptor::kPid):
        sequence.pid = static_cast<int32_t>(thread.signed_value());
        break;
      case VarintKey(ThreadDescriptor::kTid):
        sequence.tid = static_cast<int32_t>(thread.signed_value());
        break;
      case VarintKey(ThreadDescriptor::kReferenceTimestampUs):
        sequence.reference_us = thread.signed_value();
        break;
      default:
        break;
    }
  }
  sequence.has_thread = true;
  return !thread.damaged();
}

bool PacketReader::ReadDefaults(std::string_view message, Sequence& sequence) {
  Fields defaults(message);
  while (defaults.Next()) {
    if (defaults.key() == VarintKey(TracePacketDefaults::kTimestampClockId)) {
      sequence.default_clock = static_cast<uint32_t>(defaults.value());
    } else if (defaults.key() == BytesKey(TracePacketDefaults::kTrackEventDefaults)) {
      Fields event(defaults.bytes());
      while (event.Next()) {
        if (event.key() == VarintKey(TrackEventDefaults::kTrackUuid)) {
          sequence.default_track = event.value();
        }
      }
      if (event.damaged()) return false;
    }
  }
  return !defaults.damaged();
}

bool PacketReader::ReadInterned(std::string_view message, Sequence& sequence) {
  Fields tables(message);
  while (tables.Next()) {
    switch (tables.key()) {
      case BytesKey(InternedData::kEventCategories):
      case BytesKey(InternedData::kEventNames):
      case BytesKey(InternedData::kDebugAnnotationNames):
      case BytesKey(InternedData::kDebugAnnotationStringValues):
        break;
      default:
        continue;
    }
    uint64_t iid = 0;
    std::string_view text;
    Fields entry(tables.bytes());
    while (entry.Next()) {
      if (entry.key() == VarintKey(InternedEntry::kIid)) iid = entry.value();
      if (entry.key() == BytesKey(InternedEntry::kText)) text = entry.bytes();
    }
    if (entry.damaged() || iid == 0) return false;
    Intern(tables.number(), iid, text, sequence);
  }
  return !tables.damaged();
}

void PacketReader::Intern(uint32_t table, uint64_t iid, std::string_view text, Sequence& sequence) {
  InternedTables& tables = sequence.Tables();
  switch (static_cast<InternedData>(table)) {
    case InternedData::kEventNames:
      tables.names[iid] = texts_.Intern(text);
      break;
    case InternedData::kEventCategories:
      for (int i = 0; i <= static_cast<int>(profile::kLastCategory); ++i) {
        const auto category = static_cast<profile::Category>(i);
        if (text == profile::CategoryName(category)) tables.categories[iid] = category;
      }
      break;
    case InternedData::kDebugAnnotationNames:
      for (uint32_t i = 1; i < kArgNameCount; ++i) {
        const auto name = static_cast<ArgName>(i);
        if (text == ArgNameText(name)) tables.args[iid] = name;
      }
      break;
    case InternedData::kDebugAnnotationStringValues:
      tables.values[iid] = values_.Intern(text);
      break;
  }
}

bool PacketReader::ReadUuid(std::string_view message) {
  Fields uuid(message);
  uint64_t high = 0;
  uint64_t low = 0;
  while (uuid.Next()) {
    if (uuid.key() == VarintKey(TraceUuid::kMsb)) high = uuid.value();
    if (uuid.key() == VarintKey(TraceUuid::kLsb)) low = uuid.value();
  }
  if (uuid.damaged()) return false;
  // Ours says it first of all; another one is of a trace behind it.
  if (tracks_.any_own() && !profile_->run_id.empty()) return true;
  if (high != 0 || low != 0) profile_->run_id = fmt::format("{:016x}{:016x}", high, low);
  return true;
}

void PacketReader::CountUnread(std::string what) {
  ++unread_[std::move(what)];
  profile_->losses.Add(Loss::kOtherPackets);
}

// Calls of modules that nobody described are of none.
void PacketReader::CheckModules() {
  const size_t modules = recording_->model.modules.tree.size();
  for (profile::SliceArgs& args : profile_->args) {
    if (args.module == profile::kNone || args.module < modules) continue;
    args.module = profile::kNone;
    if (!notes_.empty()) profile_->losses.Add(Loss::kLostState);
  }
}

void PacketReader::Finish() {
  TrackPlan plan = tracks_.Plan();
  std::vector<profile::CounterSample>& counters = profile_->counters;
  for (profile::CounterSample& sample : counters) sample.track = plan.track_of[sample.track];
  slices_.Assemble(std::move(plan));
  LinkRegionParts();
  std::stable_sort(counters.begin(), counters.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  profile_->process_name = texts_.Get(tracks_.process_name());
  profile_->clock.boottime_minus_monotonic_ns = clocks_.boottime_minus_monotonic_ns().value_or(0);
  profile_->clock.realtime_minus_monotonic_ns = clocks_.realtime_minus_monotonic_ns().value_or(0);
  // Ours ends with notes. Without them its clock, its model and what it lost are not known.
  if (notes_.empty() && tracks_.any_own() && profile_->losses.Get(Loss::kTruncatedFile) == 0) {
    profile_->losses.Add(Loss::kTruncatedFile);
  }
  ReadNotes(notes_, recording_);
  CheckModules();
  for (const int64_t start_ns : slices_.damaged_methods()) {
    recording_->incomplete_runs.push_back(start_ns);
  }
  for (const auto& [type, count] : unread_) recording_->source.packets.push_back({type, count});
}

}  // namespace inferprobe::perfetto
