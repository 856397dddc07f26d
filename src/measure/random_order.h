// A small generator for orders and seeds: splitmix64, the same on every machine.
#pragma once

#include <cstdint>

namespace inferprobe::measure {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n); n is small, so that the bias of the remainder does not matter.
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>((Next() >> 32) % n); }

 private:
  uint64_t state_;
};

}  // namespace inferprobe::measure
