// Sums of numbers that come from a file. A sum that its type does not hold stays at the type's end;
// a wrapped one would be a made-up number.
#pragma once

#include <limits>

namespace inferprobe::base {

template <typename Integer>
constexpr Integer SaturatingAdd(Integer a, Integer b) {
  Integer sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<Integer>::max() : std::numeric_limits<Integer>::min();
}

// Whether it may have been cut: then no figure can be made of it.
template <typename Integer>
constexpr bool IsSaturated(Integer sum) {
  return sum == std::numeric_limits<Integer>::max() || sum == std::numeric_limits<Integer>::min();
}

}  // namespace inferprobe::base
