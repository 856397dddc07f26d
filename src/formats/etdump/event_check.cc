#include "formats/etdump/event_check.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace inferprobe::etdump {
namespace {

using ::etdump::Event;
using ::etdump::ProfileEvent;

constexpr size_t kOffsetBytes = 4;
constexpr size_t kPhases = 8;  // the largest alignment of a field

size_t SlotOf(size_t vtable) {
  return static_cast<uint32_t>(static_cast<uint32_t>(vtable) * 2654435761U) >> 28;
}

}  // namespace

EventCheck::EventCheck(std::string_view bytes) : bytes_(bytes) {}

template <typename Table>
bool EventCheck::Verifies(const Table& table) const {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
  return table.Verify(verifier);
}

size_t EventCheck::VtableOf(size_t at) const {
  return at - static_cast<size_t>(int64_t{Read<int32_t>(at)});
}

const EventCheck::Shape* EventCheck::Seen(const Shapes& shapes, size_t at) const {
  if (bytes_.size() - at < kOffsetBytes) return nullptr;
  const size_t vtable = VtableOf(at);
  const Shape& shape = shapes[SlotOf(vtable)];
  const bool same = vtable != 0 && shape.vtable == vtable && shape.phase == at % kPhases &&
                    shape.extent <= bytes_.size() - at;
  return same ? &shape : nullptr;
}

// Precondition: `table`, at `at`, was verified.
template <typename Table>
EventCheck::Shape& EventCheck::Learn(Shapes& shapes, size_t at, const Table& table) {
  const size_t vtable = VtableOf(at);
  Shape& shape = shapes[SlotOf(vtable)];
  shape = Shape{vtable, at % kPhases, kOffsetBytes, {}};
  const auto add = [&](flatbuffers::voffset_t field, size_t bytes) {
    const auto& plain = reinterpret_cast<const flatbuffers::Table&>(table);
    const flatbuffers::voffset_t offset = plain.GetOptionalFieldOffset(field);
    if (offset != 0) shape.extent = std::max(shape.extent, offset + bytes);
    return offset;
  };
  if constexpr (std::is_same_v<Table, ProfileEvent>) {
    for (const auto field : {ProfileEvent::VT_CHAIN_INDEX, ProfileEvent::VT_INSTRUCTION_ID,
                             ProfileEvent::VT_DELEGATE_DEBUG_ID_INT}) {
      add(field, sizeof(int32_t));
    }
    add(ProfileEvent::VT_START_TIME, sizeof(uint64_t));
    add(ProfileEvent::VT_END_TIME, sizeof(uint64_t));
    shape.offsets = {add(ProfileEvent::VT_NAME, kOffsetBytes),
                     add(ProfileEvent::VT_DELEGATE_DEBUG_ID_STR, kOffsetBytes),
                     add(ProfileEvent::VT_DELEGATE_DEBUG_METADATA, kOffsetBytes)};
  } else {
    shape.offsets = {add(Event::VT_PROFILE_EVENT, kOffsetBytes),
                     add(Event::VT_ALLOCATION_EVENT, kOffsetBytes),
                     add(Event::VT_DEBUG_EVENT, kOffsetBytes)};
  }
  return shape;
}

size_t EventCheck::Follow(size_t at) const {
  const auto offset = Read<uint32_t>(at);
  if (static_cast<int32_t>(offset) <= 0) return 0;
  return offset < bytes_.size() - at ? at + offset : 0;
}

bool EventCheck::IsSoundBytes(size_t at, bool is_text) const {
  if (at == 0 || at % kOffsetBytes != 0 || bytes_.size() - at < kOffsetBytes) return false;
  const size_t count = Read<uint32_t>(at);
  const size_t room = bytes_.size() - at - kOffsetBytes;
  if (!is_text) return count <= room;
  return count < room && bytes_[at + kOffsetBytes + count] == '\0';
}

bool EventCheck::IsSoundProfileEvent(size_t at) {
  const Shape* shape = Seen(profile_events_, at);
  if (shape == nullptr) {
    const auto* event = reinterpret_cast<const ProfileEvent*>(bytes_.data() + at);
    if (!Verifies(*event)) return false;
    Learn(profile_events_, at, *event);
    return true;
  }
  const auto [name, id, metadata] = shape->offsets;
  return (name == 0 || IsSoundBytes(Follow(at + name), true)) &&
         (id == 0 || IsSoundBytes(Follow(at + id), true)) &&
         (metadata == 0 || IsSoundBytes(Follow(at + metadata), false));
}

bool EventCheck::IsSound(size_t at) {
  const Shape* shape = Seen(events_, at);
  if (shape != nullptr) {
    const auto [profile, allocation, debug] = shape->offsets;
    if (profile != 0 && allocation == 0 && debug == 0) {
      const size_t part = Follow(at + profile);
      return part != 0 && IsSoundProfileEvent(part);
    }
  }
  const auto* event = reinterpret_cast<const Event*>(bytes_.data() + at);
  if (!Verifies(*event)) return false;
  Learn(events_, at, *event);
  return true;
}

}  // namespace inferprobe::etdump
