#include "formats/perfetto/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "formats/perfetto/fields.h"
#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {

using profile::kNone;
using profile::StringId;
using profile::Track;
using profile::TrackType;

namespace {

// One number for both; two threads that share it (of 2^32 processes) would be shown as one.
uint64_t ThreadKey(int64_t pid, int64_t tid) {
  return static_cast<uint64_t>(pid) << 32 ^ static_cast<uint64_t>(tid);
}

std::string_view UnitText(uint64_t unit) {
  switch (unit) {
    case 1:
      return "ns";
    case 2:
      return "count";
    case 3:
      return "bytes";
    default:
      return "";
  }
}

}  // namespace

StringId Texts::Intern(std::string_view text) {
  if (base::CountInvalidUtf8(text) == 0) return strings_->Intern(text);
  const StringId id = strings_->Intern(base::RepairUtf8(text).text);
  if (repaired_.insert(id).second) losses_->Add(profile::Loss::kInvalidUtf8);
  return id;
}

uint32_t Tracks::OfUuid(uint64_t uuid) {
  const auto [at, is_new] = by_uuid_.try_emplace(uuid, static_cast<uint32_t>(slots_.size()));
  if (is_new) slots_.emplace_back().uuid = uuid;
  return at->second;
}

uint32_t Tracks::OfThread(int64_t pid, int64_t tid) {
  const auto [at, is_new] =
      by_thread_.try_emplace(ThreadKey(pid, tid), static_cast<uint32_t>(slots_.size()));
  if (is_new) {
    Slot& slot = slots_.emplace_back();
    slot.type = Type::kThread;
    slot.pid = pid;
    slot.tid = tid;
  }
  return at->second;
}

uint32_t Tracks::ForEvents(uint32_t slot, bool counter) {
  uint32_t& number = slots_[slot].number;
  if (number == kNone) {
    if (used_.size() >= kMostTracks) return kNone;
    number = static_cast<uint32_t>(used_.size());
    used_.push_back(slot);
    counters_only_.push_back(true);
  }
  if (!counter) counters_only_[number] = false;
  return number;
}

bool Tracks::ReadProcess(std::string_view message, Slot& slot, std::string_view& name) {
  Fields process(message);
  while (process.Next()) {
    if (process.key() == VarintKey(ProcessDescriptor::kPid)) {
      slot.pid = static_cast<int32_t>(process.signed_value());
    } else if (process.key() == BytesKey(ProcessDescriptor::kProcessName)) {
      name = process.bytes();
    }
  }
  return !process.damaged();
}

bool Tracks::ReadThread(std::string_view message, Slot& slot, std::string_view& name) {
  Fields thread(message);
  while (thread.Next()) {
    switch (thread.key()) {
      case VarintKey(ThreadDescriptor::kPid):
        slot.pid = static_cast<int32_t>(thread.signed_value());
        break;
      case VarintKey(ThreadDescriptor::kTid):
        slot.tid = thread.signed_value();
        break;
      case BytesKey(ThreadDescriptor::kThreadName):
        name = thread.bytes();
        break;
      default:
        break;
    }
  }
  return !thread.damaged();
}

bool Tracks::ReadCounter(std::string_view message, Slot& slot) {
  Fields counter(message);
  while (counter.Next()) {
    switch (counter.key()) {
      case VarintKey(CounterDescriptor::kUnit):
        if (slot.unit == 0) slot.unit = texts_->Intern(UnitText(counter.value()));
        break;
      case VarintKey(CounterDescriptor::kUnitMultiplier):
        slot.multiplier = std::max<int64_t>(counter.signed_value(), 1);
        break;
      case VarintKey(CounterDescriptor::kIsIncremental):
        slot.incremental = counter.value() != 0;
        break;
      case BytesKey(CounterDescriptor::kUnitName):
        slot.unit = texts_->Intern(counter.bytes());
        break;
      default:
        break;
    }
  }
  return !counter.damaged();
}

Tracks::Described Tracks::Describe(std::string_view message, uint32_t sequence) {
  Fields fields(message);
  uint64_t uuid = 0;
  uint64_t parent = 0;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view counter;
  std::string_view description;
  bool has_counter = false;
  while (fields.Next()) {
    switch (fields.key()) {
      case VarintKey(TrackDescriptor::kUuid):
        uuid = fields.value();
        break;
      case VarintKey(TrackDescriptor::kParentUuid):
        parent = fields.value();
        break;
      case BytesKey(TrackDescriptor::kName):
      case BytesKey(TrackDescriptor::kStaticName):
      case BytesKey(TrackDescriptor::kAtraceName):
        name = fields.bytes();
        break;
      case BytesKey(TrackDescriptor::kProcess):
        process = fields.bytes();
        break;
      case BytesKey(TrackDescriptor::kThread):
        thread = fields.bytes();
        break;
      case BytesKey(TrackDescriptor::kCounter):
        counter = fields.bytes();
        has_counter = true;
        break;
      case BytesKey(TrackDescriptor::kDescription):
        description = fields.bytes();
        break;
      default:
        break;
    }
  }
  if (fields.damaged()) return Described::kDamaged;
  const std::optional<TrackMark> mark = ParseMark(description);
  const Memory memory = description == kAllocationsMark         ? Memory::kHost
                        : description == kDeviceAllocationsMark ? Memory::kDevice
                                                                : Memory::kNone;
  const bool own =
      mark || description == kNotesMark || description == kRunsMark || memory != Memory::kNone;
  Slot& slot = slots_[OfUuid(uuid)];
  if (own && (own_ended_ || slot.mark || slot.notes || slot.runs || slot.memory != Memory::kNone))
    return Described::kTwice;
  any_own_ = any_own_ || own;
  slot.parent = parent;
  if (slot.type == Type::kUnknown) slot.type = Type::kNamed;
  if (process.data() != nullptr && thread.data() == nullptr) {
    slot.type = Type::kProcess;
    std::string_view process_name;
    if (!ReadProcess(process, slot, process_name)) return Described::kDamaged;
    if (name.empty()) name = process_name;
    if (process_name_ == 0) process_name_ = texts_->Intern(process_name);
  }
  if (thread.data() != nullptr) {
    slot.type = Type::kThread;
    std::string_view thread_name;
    if (!ReadThread(thread, slot, thread_name)) return Described::kDamaged;
    if (!thread_name.empty()) name = thread_name;
  }
  if (has_counter) {
    slot.counter = true;
    slot.sequence = sequence;
    if (!ReadCounter(counter, slot)) return Described::kDamaged;
  }
  if (!name.empty()) slot.name = texts_->Intern(name);
  slot.notes = description == kNotesMark;
  slot.runs = description == kRunsMark;
  slot.memory = memory;
  if (mark) slot.mark = std::make_unique<TrackMark>(*mark);
  return Described::kOnce;
}

std::optional<double> Tracks::CounterValue(uint32_t slot_index, uint32_t sequence,
                                           uint32_t generation, double value) {
  Slot& slot = slots_[slot_index];
  value *= static_cast<double>(slot.multiplier);
  if (!slot.incremental) return value;
  if (slot.sequence != sequence) return std::nullopt;
  if (slot.generation != generation) slot.latest = 0;
  slot.generation = generation;
  slot.latest += value;
  return slot.latest;
}

// Named tracks belong to the process of the nearest thread or process above them.
void Tracks::FindProcesses() {
  std::vector<uint32_t> path;
  std::vector<bool> done(slots_.size());
  for (uint32_t first = 0; first < slots_.size(); ++first) {
    int64_t pid = 0;
    path.clear();
    for (uint32_t at = first;;) {
      Slot& slot = slots_[at];
      if (done[at] || slot.type == Type::kProcess || slot.type == Type::kThread) {
        pid = slot.pid;
        break;
      }
      done[at] = true;  // ends a cycle of parents, too
      path.push_back(at);
      const auto parent = by_uuid_.find(slot.parent);
      if (slot.parent == 0 || parent == by_uuid_.end()) break;
      at = parent->second;
    }
    for (const uint32_t each : path) slots_[each].pid = pid;
  }
}

// What one description says of a thread's name holds for all tracks of the thread.
void Tracks::NameThreads() {
  std::unordered_map<uint64_t, StringId, MixedHash> names;
  for (const Slot& slot : slots_) {
    if (slot.type != Type::kThread || slot.counter || slot.name == 0) continue;
    names.try_emplace(ThreadKey(slot.pid, slot.tid), slot.name);
  }
  for (Slot& slot : slots_) {
    if (slot.type != Type::kThread || slot.counter || slot.name != 0 || slot.mark) continue;
    const auto found = names.find(ThreadKey(slot.pid, slot.tid));
    if (found != names.end()) slot.name = found->second;
  }
}

Track Tracks::ModelTrack(const Slot& slot) const {
  Track track;
  track.name = texts_->Get(slot.name);
  track.unit = texts_->Get(slot.unit);
  if (const TrackMark* mark = slot.mark.get()) {
    track.type = mark->type;
    track.kind = mark->kind;
    track.pid = mark->pid;
    track.tid = mark->tid;
    track.in_ticks = mark->in_ticks;
    track.parent = mark->thread;  // as a number of theirs; Plan() makes it ours
    track.name.resize(std::min(mark->name_bytes, track.name.size()));
    if (track.type != TrackType::kCounter) track.unit.clear();
    return track;
  }
  track.pid = slot.pid;
  track.tid = slot.type == Type::kThread ? slot.tid : 0;
  // Of a track that is no thread, nobody knows what its times are of: a queue, a device, a frame.
  if (slot.type != Type::kThread && !slot.counter) track.kind = profile::Kind::kEngineReported;
  if (slot.counter) track.type = TrackType::kCounter;
  if (!track.name.empty()) return track;
  if (slot.type == Type::kThread) {
    track.name = fmt::format("thread {}", slot.tid);
  } else if (slot.type == Type::kProcess) {
    track.name = fmt::format("process {}", slot.pid);
  } else {
    track.name = fmt::format("track {:#x}", slot.uuid);
  }
  return track;
}

TrackPlan Tracks::Plan() {
  FindProcesses();
  NameThreads();
  TrackPlan plan;
  const size_t count = used_.size();
  plan.track_of.resize(count);
  plan.stack_of.resize(count);
  plan.lane_of.resize(count);
  // Ours in their old order, then the others as they came.
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto mark_of = [&](uint32_t number) { return slots_[used_[number]].mark.get(); };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const TrackMark* left = mark_of(a);
    const TrackMark* right = mark_of(b);
    if (left == nullptr || right == nullptr) return left != nullptr && right == nullptr;
    return left->track != right->track ? left->track < right->track : left->lane < right->lane;
  });
  std::map<uint32_t, uint32_t> ours;       // their number of a track -> ours
  std::map<uint64_t, uint32_t> of_thread;  // number of the first track of each thread
  for (const uint32_t number : order) {
    const Slot& slot = slots_[used_[number]];
    const TrackMark* mark = slot.mark.get();
    plan.stack_of[number] = number;
    auto index = static_cast<uint32_t>(plan.tracks.size());
    if (mark != nullptr) {
      plan.lane_of[number] = mark->lane;
      index = ours.try_emplace(mark->track, index).first->second;
    } else if (slot.type == Type::kThread && !slot.counter) {
      const auto [first, is_new] = of_thread.try_emplace(ThreadKey(slot.pid, slot.tid), number);
      plan.stack_of[number] = first->second;
      if (!is_new) index = plan.track_of[first->second];
    }
    if (index == plan.tracks.size()) {
      plan.tracks.push_back(ModelTrack(slot));
      if (mark == nullptr && counters_only_[number]) {
        plan.tracks.back().type = TrackType::kCounter;
      }
      plan.lanes.emplace_back();
    }
    plan.track_of[number] = static_cast<uint16_t>(index);
    plan.lanes[index].push_back(number);
  }
  for (Track& track : plan.tracks) {
    if (track.parent == kNone) continue;
    const auto parent = ours.find(track.parent);
    track.parent = parent == ours.end() ? kNone : parent->second;
  }
  return plan;
}

}  // namespace inferprobe::perfetto
