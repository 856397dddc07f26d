// Event names as ExecuTorch's hooks give them (a pointer to text) to what a cell needs: the id in
// the recorder's name table, and the kind of event. A name is classified and interned once.
//
// The rule that people break: a pointer is no identity. A delegate may reuse a buffer for the next
// name, so a hit by pointer is believed only after its text has been compared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/layout.h"

namespace inferprobe::executorch_engine {

// What an event is, by its name: the names are fixed in ExecuTorch's executor and in the code that
// it generates for kernels.
record::CellType ClassifyEvent(std::string_view name);

class NameCache {
 public:
  struct Entry {
    const char* text = nullptr;  // our copy; nullptr: an empty slot
    uint32_t id = 0;
    record::CellType type = record::CellType::kOther;
  };

  NameCache();
  // Allocates and locks for a text that is new, never for one that was seen before. nullptr is "".
  const Entry& Find(const char* name) {
    Slot& slot = slots_[SlotOf(name)];
    if (slot.key == name && Equal(slot.entry.text, name)) [[likely]] {
      return slot.entry;
    }
    return FindByText(name, &slot);
  }

 private:
  struct Slot {
    const char* key = nullptr;
    Entry entry;
  };
  static constexpr size_t kSlots = 2048;

  static size_t SlotOf(const char* name) {
    // Names are mostly string literals and strings of one table: neighbours, at odd distances.
    const auto bits = reinterpret_cast<uintptr_t>(name);
    return (bits * 0x9E3779B97F4A7C15) >> 53;
  }
  static bool Equal(const char* a, const char* b);
  const Entry& FindByText(const char* name, Slot* slot);

  std::vector<Slot> slots_;
  std::unordered_map<std::string_view, Entry> by_text_;
  std::vector<std::unique_ptr<char[]>> texts_;
};

}  // namespace inferprobe::executorch_engine
