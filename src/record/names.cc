#include "record/names.h"

#include <cstring>

namespace inferprobe::record {

NameRegistry::Interned NameRegistry::Intern(std::string_view name) {
  if (name.empty()) return {0, false};
  if (auto found = ids_.find(name); found != ids_.end()) return {found->second, false};
  if (names_.size() >= kMaxNames) return {kLostId, true};
  const std::string& kept = names_.emplace_back(name);
  const auto id = static_cast<uint32_t>(names_.size());
  ids_.emplace(kept, id);
  return {id, true};
}

void AppendName(Header* header, std::byte* table, std::string_view name) {
  const uint64_t used = header->names_used.load(std::memory_order_relaxed);
  const uint64_t left = header->names_bytes - used;
  uint32_t length = kLostName;
  uint64_t text_bytes = 0;
  if (name.size() < kLostName && sizeof length + name.size() <= left) {
    length = static_cast<uint32_t>(name.size());
    text_bytes = name.size();
  } else {
    header->names_lost.fetch_add(1, std::memory_order_relaxed);
    if (left < sizeof length) return;
  }
  std::memcpy(table + used, &length, sizeof length);
  std::memcpy(table + used + sizeof length, name.data(), text_bytes);
  header->names_used.store(used + sizeof length + text_bytes, std::memory_order_relaxed);
  header->names_count.fetch_add(1, std::memory_order_release);
}

}  // namespace inferprobe::record
