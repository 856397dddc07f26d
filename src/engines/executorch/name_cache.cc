#include "engines/executorch/name_cache.h"

#include <cstring>

#include "record/ring_writer.h"

namespace inferprobe::executorch_engine {

record::CellType ClassifyEvent(std::string_view name) {
  using record::CellType;
  if (name == "OPERATOR_CALL") return CellType::kOperatorCall;
  if (name == "DELEGATE_CALL") return CellType::kDelegateCall;
  if (name == "Method::execute") return CellType::kMethod;
  if (name.starts_with("native_call_")) return CellType::kKernel;
  return CellType::kOther;
}

NameCache::NameCache() : slots_(kSlots) {
  // nullptr is the key of an empty slot; it stands for "", which needs no id.
  for (Slot& slot : slots_) slot.entry.text = "";
}

bool NameCache::Equal(const char* a, const char* b) {
  return b == nullptr || std::strcmp(a, b) == 0;
}

const NameCache::Entry& NameCache::FindByText(const char* name, Slot* slot) {
  const std::string_view text = name == nullptr ? std::string_view() : std::string_view(name);
  auto found = by_text_.find(text);
  if (found == by_text_.end()) {
    auto& copy = texts_.emplace_back(std::make_unique<char[]>(text.size() + 1));
    text.copy(copy.get(), text.size());
    const std::string_view key(copy.get(), text.size());
    found = by_text_.emplace(key, Entry{copy.get(), record::InternName(text), ClassifyEvent(text)})
                .first;
  }
  *slot = {name, found->second};
  return slot->entry;
}

}  // namespace inferprobe::executorch_engine
