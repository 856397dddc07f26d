#include "formats/perfetto/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace inferprobe::perfetto {

std::optional<std::string> Inflate(std::string_view deflated, size_t limit) {
  if (deflated.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return std::nullopt;
  // zlib does not write to its input; without ZLIB_CONST it does not say so.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.avail_in = static_cast<uInt>(deflated.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= limit) {
    const size_t have = out.size();
    const size_t step = std::clamp(have, deflated.size() + 1024, kMaxInflatedBytes);
    out.resize(have + std::min(step, limit + 1 - have));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(out.size() - have);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out.size() > limit) return std::nullopt;
  return out;
}

}  // namespace inferprobe::perfetto
