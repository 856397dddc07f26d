#include "formats/npy/npy_header.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

namespace inferprobe::npy {
namespace {

struct TypeRow {
  std::string_view code;
  ScalarType type;
  size_t swap_unit;
};
constexpr TypeRow kTypes[] = {
    {"b1", ScalarType::kBool, 1},           {"u1", ScalarType::kUint8, 1},
    {"u2", ScalarType::kUint16, 2},         {"u4", ScalarType::kUint32, 4},
    {"u8", ScalarType::kUint64, 8},         {"i1", ScalarType::kInt8, 1},
    {"i2", ScalarType::kInt16, 2},          {"i4", ScalarType::kInt32, 4},
    {"i8", ScalarType::kInt64, 8},          {"f2", ScalarType::kFloat16, 2},
    {"f4", ScalarType::kFloat32, 4},        {"f8", ScalarType::kFloat64, 8},
    {"c8", ScalarType::kComplexFloat64, 4}, {"c16", ScalarType::kComplexFloat128, 8},
    {"V2", ScalarType::kUint16, 2},  // how ml_dtypes' bfloat16 is saved
};

// Reads the subset of Python's literals that numpy writes: strings, True/False, tuples of ints.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, size_t offset, std::string_view name)
      : text_(text), offset_(offset), name_(name) {}

  Result<NpyHeader> Read() {
    if (!Take('{')) return Wrong("'{'");
    while (!Take('}')) {
      INFERPROBE_RETURN_IF_ERROR(ReadEntry());
      if (!Take(',')) {
        if (!Take('}')) return Wrong("',' or '}'");
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size()) return Wrong("the header's end");
    if (!has_type_) return Wrong("a dict with 'descr'");
    if (!has_order_) return Wrong("a dict with 'fortran_order'");
    if (!has_shape_) return Wrong("a dict with 'shape'");
    return header_;
  }

 private:
  Result<void> ReadEntry() {
    auto key = ReadString();
    if (!key) return tl::unexpected(key.error());
    if (!Take(':')) return Wrong("':'");
    if (*key == "descr") return has_type_ ? Wrong("'descr' once") : ReadType();
    if (*key == "fortran_order") return has_order_ ? Wrong("'fortran_order' once") : ReadOrder();
    if (*key == "shape") return has_shape_ ? Wrong("'shape' once") : ReadShape();
    return Wrong("'descr', 'fortran_order' or 'shape'");
  }

  Result<void> ReadType() {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("{}: byte {}: an array of records (a structured dtype)", name_,
                                   offset_ + at_),
                       "save each field as an array of its own");
    }
    const size_t start = at_;
    auto text = ReadString();
    if (!text) return tl::unexpected(text.error());
    const std::string_view descr = *text;
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string_view code = order == '<' || order == '>' || order == '|' || order == '='
                                      ? descr.substr(1)
                                      : std::string_view();
    for (const TypeRow& row : kTypes) {
      if (row.code != code) continue;
      header_.type = row.type;
      header_.swap_unit = row.swap_unit;
      const char other = std::endian::native == std::endian::little ? '>' : '<';
      header_.swapped = row.swap_unit > 1 && order == other;
      has_type_ = true;
      return {};
    }
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{}: byte {}: arrays of type '{}' cannot be read", name_,
                                 offset_ + start, descr),
                     "bool, integers, float16 to float64 and complex numbers can");
  }

  Result<void> ReadOrder() {
    has_order_ = true;
    if (TakeWord("True")) {
      header_.fortran = true;
      return {};
    }
    if (TakeWord("False")) return {};
    return Wrong("True or False");
  }

  Result<void> ReadShape() {
    has_shape_ = true;
    if (!Take('(')) return Wrong("'('");
    while (!Take(')')) {
      const auto extent = ReadExtent();
      if (!extent) return Wrong("an extent from 0 to 9223372036854775807");
      if (header_.shape.size() == kMaxRank) return Wrong("at most 64 dimensions");
      header_.shape.push_back(*extent);
      if (!Take(',')) {
        if (!Take(')')) return Wrong("',' or ')'");
        break;
      }
    }
    return {};
  }

  std::optional<int64_t> ReadExtent() {
    SkipSpace();
    const size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return std::nullopt;
      }
      ++at_;
    }
    if (at_ == start) return std::nullopt;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return value;
  }

  Result<std::string_view> ReadString() {
    SkipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return Wrong("a string");
    const char quote = text_[at_];
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Wrong("a string that ends");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  bool Take(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  [[nodiscard]] tl::unexpected<Error> Wrong(std::string_view wanted) const {
    return MakeError(ErrorCode::kMalformed,
                     fmt::format("{}: byte {}: not a .npy header: {} was expected", name_,
                                 offset_ + at_, wanted));
  }

  static constexpr size_t kMaxRank = 64;  // numpy's own limit since 2.0
  std::string_view text_;
  size_t offset_;
  std::string_view name_;
  size_t at_ = 0;
  NpyHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

Result<NpyHeader> ParseNpyHeader(std::string_view text, size_t offset, std::string_view name) {
  return HeaderReader(text, offset, name).Read();
}

}  // namespace inferprobe::npy
