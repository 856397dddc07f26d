// Which module a call is of: a table from the address of an object to its number, looked up at each
// call of a watched `forward`.
//
//   WatchTable table;
//   table.Add(module, function, 7);              // or one more reference to what is there
//   const WatchTable::Entry* entry = table.Find(module);
//   table.Remove(module);                        // true: that was the last reference
//
// The rule that people break: an address means an object only while somebody holds the object. Who
// adds one keeps it alive until it is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace inferprobe::python {

class WatchTable {
 public:
  struct Entry {
    const void* key = nullptr;  // nullptr: free
    const void* function = nullptr;
    uint32_t number = 0;
    uint32_t references = 0;
    uint32_t name = 0;  // in the recorder's table
  };

  // nullptr: not there. The entry stays where it is until the table changes.
  [[nodiscard]] const Entry* Find(const void* key) const {
    for (size_t at = Home(key);; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.key == key) return key == nullptr ? nullptr : &entry;
      if (entry.key == nullptr) return nullptr;
    }
  }

  // Precondition: key is not nullptr. Of one that is there only the references change.
  const Entry& Add(const void* key, const void* function, uint32_t number, uint32_t name = 0) {
    // Never more than half full: a look-up ends soon.
    if ((size_ + 1) * 2 > entries_.size()) Grow();
    Entry& entry = Slot(key);
    if (entry.key == nullptr) {
      entry = {key, function, number, 0, name};
      ++size_;
    }
    ++entry.references;
    return entry;
  }

  // True: nobody refers to it any more, and it is gone.
  bool Remove(const void* key) {
    Entry& entry = Slot(key);
    if (entry.key == nullptr || key == nullptr || --entry.references > 0) return false;
    --size_;
    // What was pushed past the free place moves up, or nobody would find it.
    auto hole = static_cast<size_t>(&entry - entries_.data());
    entries_[hole] = {};
    for (size_t at = (hole + 1) & mask_; entries_[at].key != nullptr; at = (at + 1) & mask_) {
      const size_t home = Home(entries_[at].key);
      if (((at - home) & mask_) < ((at - hole) & mask_)) continue;  // stands behind the hole
      entries_[hole] = std::exchange(entries_[at], {});
      hole = at;
    }
    return true;
  }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kSmallest = 64;

  // Objects lie 16 bytes apart at least; the top bits of the product depend on all others.
  [[nodiscard]] size_t Home(const void* key) const {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15ULL;
    return static_cast<size_t>(mixed >> 32) & mask_;
  }
  Entry& Slot(const void* key) {
    size_t at = Home(key);
    while (entries_[at].key != nullptr && entries_[at].key != key) at = (at + 1) & mask_;
    return entries_[at];
  }
  void Grow() {
    const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    mask_ = entries_.size() - 1;
    for (const Entry& entry : old) {
      if (entry.key != nullptr) Slot(entry.key) = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kSmallest);
  size_t mask_ = kSmallest - 1;
  size_t size_ = 0;
};

}  // namespace inferprobe::python
