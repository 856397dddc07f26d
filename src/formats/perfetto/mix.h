// A hash for numbers that a file gives out: the standard one is the number itself, and numbers that
// are multiples of the table's size would make it a list.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferprobe::perfetto {

struct MixedHash {
  size_t operator()(uint64_t key) const {  // the finalizer of splitmix64
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
    key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
    return key ^ (key >> 31);
  }
};

}  // namespace inferprobe::perfetto
