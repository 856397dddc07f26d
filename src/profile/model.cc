#include "profile/model.h"

namespace inferprobe::profile {

StringTable::StringTable() { Intern(""); }

StringId StringTable::Intern(std::string_view text) {
  if (auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<StringId>(strings_.size());
  ids_.emplace(strings_.emplace_back(text), id);
  return id;
}

uint32_t Profile::AddArgs(const SliceArgs& value) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint64_t part :
       {uint64_t{static_cast<uint32_t>(value.chain)},
        uint64_t{static_cast<uint32_t>(value.instruction)},
        uint64_t{static_cast<uint32_t>(value.delegate_debug_id)},
        uint64_t{value.delegate_debug_name}, uint64_t{value.metadata}, uint64_t{value.region},
        uint64_t{value.region_part}, uint64_t{value.module}, uint64_t{value.raised}}) {
    hash = (hash ^ part) * 0x100000001b3;
  }
  std::vector<uint32_t>& candidates = args_index_[hash];
  for (const uint32_t index : candidates) {
    if (args[index] == value) return index;
  }
  const auto index = static_cast<uint32_t>(args.size());
  args.push_back(value);
  candidates.push_back(index);
  return index;
}

}  // namespace inferprobe::profile
