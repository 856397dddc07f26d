// The process's names: text <-> id, the same for every recorder that this process starts.
//
// The rule that people break: all calls hold the recorder's lock. The hot path sees ids only.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/layout.h"

namespace inferprobe::record {

// Ids count from 1. Bounded, so that a program that makes up names does not eat the memory.
class NameRegistry {
 public:
  static constexpr size_t kMaxNames = 1 << 20;
  // What an id above all others stands for: the registry was full.
  static constexpr uint32_t kLostId = 0xFFFFFFFF;

  struct Interned {
    uint32_t id;
    bool fresh;
  };
  Interned Intern(std::string_view name);
  [[nodiscard]] const std::deque<std::string>& names() const { return names_; }

 private:
  std::deque<std::string> names_;  // id - 1
  std::unordered_map<std::string_view, uint32_t> ids_;
};

// Appends one name to a block's table and publishes it; a name that does not fit becomes a
// kLostName record, or closes the table when not even that fits. Both are counted.
void AppendName(Header* header, std::byte* table, std::string_view name);

}  // namespace inferprobe::record
