#include "formats/npy/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/files.h"
#include "formats/npy/npy_header.h"

namespace inferprobe::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

tl::unexpected<Error> Malformed(std::string_view name, size_t byte, std::string_view what) {
  return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", name, byte, what));
}

// Bytes of the array, unless they do not fit into 64 bits.
bool ByteCount(const std::vector<int64_t>& shape, size_t element, uint64_t* bytes) {
  // An extent of 0 makes the array empty whatever the other extents are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    *bytes = 0;
    return true;
  }
  *bytes = element;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(*bytes, static_cast<uint64_t>(extent), bytes)) return false;
  }
  return true;
}

void SwapUnits(std::vector<std::byte>& data, size_t unit) {
  for (size_t i = 0; i + unit <= data.size(); i += unit) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                 data.begin() + static_cast<std::ptrdiff_t>(i + unit));
  }
}

// First index fastest to last index fastest.
std::vector<std::byte> FromFortranOrder(const std::vector<std::byte>& data,
                                        const std::vector<int64_t>& shape, size_t element) {
  std::vector<std::byte> out(data.size());
  std::vector<size_t> stride(shape.size());  // of the source, in elements
  size_t step = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  std::vector<int64_t> index(shape.size(), 0);
  size_t source = 0;
  for (size_t at = 0; at < out.size(); at += element) {
    std::memcpy(&out[at], &data[source * element], element);
    for (size_t d = shape.size(); d-- > 0;) {
      source += stride[d];
      if (++index[d] < shape[d]) break;
      source -= stride[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

std::string_view NpyCode(ScalarType type) {
  switch (type) {
    case ScalarType::kUint8:
    case ScalarType::kQuint8:
      return "|u1";
    case ScalarType::kInt8:
    case ScalarType::kQint8:
      return "|i1";
    case ScalarType::kInt16:
      return "<i2";
    case ScalarType::kInt32:
    case ScalarType::kQint32:
      return "<i4";
    case ScalarType::kInt64:
      return "<i8";
    case ScalarType::kFloat16:
      return "<f2";
    case ScalarType::kFloat32:
      return "<f4";
    case ScalarType::kFloat64:
      return "<f8";
    case ScalarType::kBool:
      return "|b1";
    case ScalarType::kBfloat16:
    case ScalarType::kUint16:
      return "<u2";
    case ScalarType::kUint32:
      return "<u4";
    case ScalarType::kUint64:
      return "<u8";
    case ScalarType::kComplexFloat64:
      return "<c8";
    case ScalarType::kComplexFloat128:
      return "<c16";
    case ScalarType::kComplexFloat32:
      break;
  }
  return {};
}

}  // namespace

Result<Tensor> ReadNpy(const std::string& path) {
  auto bytes = base::ReadFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  return ParseNpy(*bytes, path);
}

Result<Tensor> ParseNpy(std::string_view bytes, std::string_view name) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return Malformed(name, 0, "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (bytes.size() < 8) return Malformed(name, bytes.size(), "the file ends before its version");
  const auto major = static_cast<uint8_t>(bytes[6]);
  if (major < 1 || major > 3) {
    return Malformed(name, 6, fmt::format("version {} of the format is not known", major));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t text_start = 8 + length_bytes;
  if (bytes.size() < text_start) {
    return Malformed(name, bytes.size(), "the file ends before its header");
  }
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(bytes[8 + i])) << (8 * i);
  }
  if (length > bytes.size() - text_start) {
    return Malformed(name, bytes.size(),
                     fmt::format("the file ends inside its header of {} bytes", length));
  }
  auto header = ParseNpyHeader(bytes.substr(text_start, length), text_start, name);
  if (!header) return tl::unexpected(header.error());

  const size_t element = ScalarTypeSize(header->type);
  const size_t data_start = text_start + length;
  uint64_t wanted = 0;
  if (!ByteCount(header->shape, element, &wanted)) {
    return Malformed(name, text_start, "the shape is too large");
  }
  const uint64_t have = bytes.size() - data_start;
  if (have < wanted) {
    return Malformed(name, bytes.size(),
                     fmt::format("the file ends early: the array ({}) has {} bytes, {} are here",
                                 fmt::join(header->shape, ", "), wanted, have));
  }
  if (have > wanted) {
    return Malformed(name, data_start + wanted,
                     fmt::format("{} bytes follow the array", have - wanted));
  }

  Tensor tensor;
  tensor.type = header->type;
  tensor.shape = header->shape;
  tensor.data.resize(wanted);
  if (wanted > 0) std::memcpy(tensor.data.data(), bytes.data() + data_start, wanted);
  if (header->swapped) SwapUnits(tensor.data, header->swap_unit);
  if (header->fortran && tensor.shape.size() > 1) {
    tensor.data = FromFortranOrder(tensor.data, tensor.shape, element);
  }
  return tensor;
}

Result<std::string> NpyBytes(const Tensor& tensor) {
  const std::string_view code = NpyCode(tensor.type);
  if (code.empty()) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("numpy has no type {}", ScalarTypeName(tensor.type)));
  }
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", code,
                  fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  // numpy pads so that the data starts at a multiple of 64 bytes.
  const size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header.push_back('\n');
  if (header.size() > 0xFFFF) {
    return MakeError(ErrorCode::kUnsupported, "the shape is too long for a .npy header");
  }

  std::string out(kMagic);
  out.append({'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
              static_cast<char>(header.size() >> 8)});
  out += header;
  static_assert(std::endian::native == std::endian::little, "data is written as it lies in memory");
  out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
}

Result<void> WriteNpy(const std::string& path, const Tensor& tensor, base::Overwrite overwrite) {
  auto bytes = NpyBytes(tensor);
  if (!bytes) return tl::unexpected(bytes.error());
  return base::WriteFileAtomically(path, *bytes, overwrite);
}

}  // namespace inferprobe::npy
