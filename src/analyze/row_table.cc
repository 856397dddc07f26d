#include "analyze/row_table.h"

#include <algorithm>

#include "base/saturating.h"

namespace inferprobe::analyze {

size_t RowKeyHash::operator()(const RowKey& key) const {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint64_t part :
       {uint64_t{key.parent} << 32 | key.name,
        uint64_t{static_cast<uint32_t>(key.instruction)} << 32 | key.occurrence,
        uint64_t{static_cast<uint32_t>(key.delegate_id)} | uint64_t{key.module} << 32,
        uint64_t{static_cast<uint8_t>(key.type)} << 8 | static_cast<uint8_t>(key.kind) |
            uint64_t{key.in_ticks} << 16 | uint64_t{key.noted} << 17 |
            uint64_t{static_cast<uint8_t>(key.mode)} << 20 | uint64_t{key.track} << 32}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

void Row::Add(uint32_t run, int64_t dur_ns) {
  if (run != last_run) {
    per_run_ns.push_back(0);
    last_run = run;
  }
  per_run_ns.back() = base::SaturatingAdd(per_run_ns.back(), dur_ns);
  total_ns = base::SaturatingAdd(total_ns, dur_ns);
}

// The runs without the row are zeros that are never written out: with a row for each of many runs,
// that would be quadratic.
double Row::MedianPerRun(uint64_t runs) const {
  std::vector<int64_t> values = per_run_ns;
  const size_t zeros = runs > values.size() ? runs - values.size() : 0;
  const auto below = static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](int64_t ns) { return ns < 0; }));
  const auto ranked = [&](size_t rank) -> double {
    if (rank >= below && rank < below + zeros) return 0;
    const size_t at = rank < below ? rank : rank - zeros;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(values.begin(), place, values.end());
    return static_cast<double>(*place);
  };
  const size_t count = values.size() + zeros;
  if (count == 0) return 0;
  const double upper = ranked(count / 2);
  return count % 2 != 0 ? upper : (ranked(count / 2 - 1) + upper) / 2;
}

uint32_t RowTable::Find(const RowKey& key, int64_t order) {
  const auto [found, added] = index_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
  if (added) {
    Row& row = rows_.emplace_back();
    row.key = key;
    row.order = order;
  }
  return found->second;
}

uint32_t RowTable::FindExisting(const RowKey& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? profile::kNone : found->second;
}

std::vector<uint32_t> RowTable::InProgramOrder() const {
  // Children of each row as one sorted list: siblings end up side by side, in their order.
  std::vector<uint32_t> by_parent(rows_.size());
  for (uint32_t i = 0; i < by_parent.size(); ++i) by_parent[i] = i;
  std::stable_sort(by_parent.begin(), by_parent.end(), [&](uint32_t a, uint32_t b) {
    if (rows_[a].key.parent != rows_[b].key.parent) {
      return rows_[a].key.parent < rows_[b].key.parent;
    }
    return rows_[a].order < rows_[b].order;
  });
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  std::vector<Range> children(rows_.size());
  Range top{by_parent.size(), by_parent.size()};  // kNone sorts last
  for (size_t i = 0; i < by_parent.size();) {
    const uint32_t parent = rows_[by_parent[i]].key.parent;
    size_t j = i;
    while (j < by_parent.size() && rows_[by_parent[j]].key.parent == parent) ++j;
    (parent == profile::kNone ? top : children[parent]) = {i, j};
    i = j;
  }
  std::vector<uint32_t> result;
  result.reserve(rows_.size());
  std::vector<uint32_t> stack;  // no recursion: scopes may nest deeply
  const auto push = [&](Range range) {
    for (size_t i = range.end; i > range.begin; --i) stack.push_back(by_parent[i - 1]);
  };
  push(top);
  while (!stack.empty()) {
    const uint32_t row = stack.back();
    stack.pop_back();
    result.push_back(row);
    push(children[row]);
  }
  return result;
}

}  // namespace inferprobe::analyze
