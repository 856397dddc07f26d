// Reads the fields of one protobuf message, from bytes that nobody has checked.
//
//   for (Fields fields(bytes); fields.Next();) {
//     if (fields.key() == VarintKey(Clock::kClockId)) id = fields.value();
//   }
//
// The rule that people break: the end of the loop is not the end of the message until damaged()
// says no. A field of another wire type than expected has another key, and is skipped like an
// unknown one.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace inferprobe::perfetto {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename Field>
constexpr uint32_t VarintKey(Field field) {
  return static_cast<uint32_t>(field) << 3;
}
template <typename Field>
constexpr uint32_t BytesKey(Field field) {
  return static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(WireType::kBytes);
}
template <typename Field>
constexpr uint32_t Fixed64Key(Field field) {
  return static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(WireType::kFixed64);
}

// Takes a varint from the front of `bytes`; false if there is none.
inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return i < 9 || byte <= 1;
    }
  }
  return false;
}

class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // The next field, or false: at the end, or at what is no field.
  bool Next() {
    if (rest_.empty() || damaged_) return false;
    damaged_ = !Take();
    return !damaged_;
  }
  [[nodiscard]] uint32_t key() const { return key_; }
  [[nodiscard]] uint32_t number() const { return key_ >> 3; }
  [[nodiscard]] WireType type() const { return static_cast<WireType>(key_ & 7); }
  [[nodiscard]] uint64_t value() const { return value_; }  // of all types but kBytes
  [[nodiscard]] int64_t signed_value() const { return static_cast<int64_t>(value_); }
  [[nodiscard]] double double_value() const {
    double number = 0;
    std::memcpy(&number, &value_, sizeof number);
    return number;
  }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  bool Take() {
    uint64_t key = 0;
    if (!TakeVarint(rest_, key) || key < 8 || key > UINT32_MAX) return false;
    key_ = static_cast<uint32_t>(key);
    value_ = 0;
    switch (type()) {
      case WireType::kVarint:
        return TakeVarint(rest_, value_);
      case WireType::kFixed64:
        return TakeFixed(8);
      case WireType::kFixed32:
        return TakeFixed(4);
      case WireType::kBytes:
        if (!TakeVarint(rest_, value_) || value_ > rest_.size()) return false;
        bytes_ = rest_.substr(0, value_);
        rest_.remove_prefix(value_);
        return true;
    }
    return false;  // groups, which Perfetto does not use, and no types at all
  }

  bool TakeFixed(size_t size) {
    if (rest_.size() < size) return false;
    // The format is little-endian, as all machines that this runs on.
    std::memcpy(&value_, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t value_ = 0;
  uint32_t key_ = 0;
  bool damaged_ = false;
};

}  // namespace inferprobe::perfetto
