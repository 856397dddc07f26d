// Which items of a long list are shown: the largest ones, in the order that the list has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace inferprobe::report {

// Keeps the `most` with the largest `size_of(item)`. One too many stays: a line that says "1 more"
// is no shorter.
template <typename Item, typename SizeOf>
void KeepLargest(std::vector<Item>& items, size_t most, SizeOf size_of) {
  if (items.size() <= most + 1) return;
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return size_of(items[a]) > size_of(items[b]); });
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(most), order.end());
  std::sort(order.begin(), order.end());
  std::vector<Item> kept;
  kept.reserve(most);
  for (const size_t at : order) kept.push_back(items[at]);
  items = std::move(kept);
}

}  // namespace inferprobe::report
