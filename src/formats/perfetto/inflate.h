// Inflates a compressed_packets field (a zlib stream), which may be made to inflate without end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inferprobe::perfetto {

constexpr size_t kMaxInflatedBytes = size_t{64} << 20;

// nullopt: no whole zlib stream, or one of more than `limit` bytes.
std::optional<std::string> Inflate(std::string_view deflated, size_t limit = kMaxInflatedBytes);

}  // namespace inferprobe::perfetto
