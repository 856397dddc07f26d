#include "measure/inputs/random_fill.h"

#include <bit>
#include <cstring>

namespace inferprobe::measure {
namespace {

// https://prng.di.unimi.it: SplitMix64 seeds xoshiro256**.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15;
      uint64_t z = seed;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
      z = (z ^ z >> 27) * 0x94D049BB133111EB;
      word = z ^ z >> 31;
    }
  }
  // The upper `bits` of the next 64.
  uint64_t Bits(int bits) { return Next() >> (64 - bits); }

 private:
  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  uint64_t state_[4];
};

// k / 2^11 with k < 2^11 as IEEE half: no rounding is ever needed.
uint16_t HalfOf(uint64_t k) {
  if (k == 0) return 0;
  const int top = 63 - std::countl_zero(k);  // k = 1.f * 2^top
  const auto fraction = static_cast<unsigned>(k << (10 - top)) & 0x3FFU;
  return static_cast<uint16_t>(static_cast<unsigned>(top - 11 + 15) << 10 | fraction);
}

template <typename T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void StoreRandom(ScalarType type, std::byte* at, Random* random) {
  switch (type) {
    case ScalarType::kUint8:
    case ScalarType::kInt8:
    case ScalarType::kQint8:
    case ScalarType::kQuint8:
      return Store(at, static_cast<uint8_t>(random->Bits(2)));
    case ScalarType::kInt16:
    case ScalarType::kUint16:
      return Store(at, static_cast<uint16_t>(random->Bits(2)));
    case ScalarType::kInt32:
    case ScalarType::kUint32:
    case ScalarType::kQint32:
      return Store(at, static_cast<uint32_t>(random->Bits(2)));
    case ScalarType::kInt64:
    case ScalarType::kUint64:
      return Store(at, random->Bits(2));
    case ScalarType::kBool:
      return Store(at, static_cast<uint8_t>(random->Bits(1)));
    case ScalarType::kFloat16:
      return Store(at, HalfOf(random->Bits(11)));
    case ScalarType::kBfloat16: {
      const float value = static_cast<float>(random->Bits(8)) * 0x1p-8F;
      return Store(at, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    }
    case ScalarType::kFloat32:
      return Store(at, static_cast<float>(random->Bits(24)) * 0x1p-24F);
    case ScalarType::kFloat64:
      return Store(at, static_cast<double>(random->Bits(53)) * 0x1p-53);
    case ScalarType::kComplexFloat32:
      StoreRandom(ScalarType::kFloat16, at, random);
      return StoreRandom(ScalarType::kFloat16, at + 2, random);
    case ScalarType::kComplexFloat64:
      StoreRandom(ScalarType::kFloat32, at, random);
      return StoreRandom(ScalarType::kFloat32, at + 4, random);
    case ScalarType::kComplexFloat128:
      StoreRandom(ScalarType::kFloat64, at, random);
      return StoreRandom(ScalarType::kFloat64, at + 8, random);
  }
}

}  // namespace

Tensor RandomTensor(const TensorSpec& spec, uint64_t seed, uint64_t index) {
  Tensor tensor;
  tensor.type = spec.type;
  tensor.shape = spec.shape;
  tensor.is_scalar = spec.is_scalar;
  if (!spec.fixed_value.empty()) {
    tensor.data = spec.fixed_value;
    return tensor;
  }
  const size_t element = ScalarTypeSize(spec.type);
  tensor.data.resize(static_cast<size_t>(ElementCount(spec.shape)) * element);
  // Streams of neighbouring seeds and inputs must not be shifted copies of each other.
  Random random(seed * 0xD1342543DE82EF95 + index * 0x2545F4914F6CDD1D);
  for (size_t at = 0; at < tensor.data.size(); at += element) {
    StoreRandom(spec.type, &tensor.data[at], &random);
  }
  return tensor;
}

}  // namespace inferprobe::measure
