#include "formats/perfetto/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "formats/perfetto/fields.h"
#include "formats/perfetto/packet_fields.h"
#include "formats/perfetto/packet_reader.h"
#include "formats/perfetto/wire.h"

namespace inferprobe::perfetto {
namespace {

constexpr size_t kHeadBytes = 4096;
// A file is given back to the system in pieces of this size, as it is read.
constexpr size_t kWindowBytes = size_t{8} << 20;
// Numbers beyond are no fields of a packet, nor are they likely to become any.
constexpr uint32_t kHighestField = 2047;

enum class Look : uint8_t { kNo, kEmpty, kYes };

// What these bytes, the first of a packet, look like. `whole`: they are all of it.
Look LookAt(std::string_view packet, bool whole) {
  if (packet.empty()) return Look::kEmpty;
  size_t known = 0;
  Fields fields(packet);
  while (fields.Next()) {
    const PacketField* field = FindPacketField(fields.number());
    if (field != nullptr) {
      if (field->type != fields.type()) return Look::kNo;
      ++known;
    } else if (fields.number() > kHighestField) {
      return Look::kNo;
    }
  }
  if (fields.damaged()) {
    // Only the last field, and only if the head ends in it.
    if (whole) return Look::kNo;
    const PacketField* field = FindPacketField(fields.number());
    if (field == nullptr && known == 0) return Look::kNo;
    if (field != nullptr && field->type != fields.type()) return Look::kNo;
    ++known;
  }
  return known > 0 ? Look::kYes : Look::kNo;
}

Error NotATrace(const std::string& path) {
  return {ErrorCode::kMalformed,
          fmt::format("{} is not a Perfetto trace: at byte 0 there is no packet of one", path),
          "give a .pftrace, .perfetto-trace or .pb file of Perfetto's protobuf format"};
}

Result<void> CheckStart(std::string_view bytes, const std::string& path,
                        const profile::ReadOptions& options) {
  if (options.input_unit_ns != 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is a Perfetto trace, which says itself how long its units of "
                                 "time are",
                                 path),
                     "leave --input-unit out");
  }
  if (bytes.empty()) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{} is empty: it ends at byte 0", path),
                     "record the trace again");
  }
  if (!LooksLikeTrace(bytes.substr(0, kHeadBytes), bytes.size())) {
    return tl::unexpected(NotATrace(path));
  }
  return {};
}

profile::Recording StartRecording(std::string_view bytes, const std::string& path) {
  profile::Recording recording;
  recording.source.path = path;
  recording.source.format = "perfetto";
  recording.source.title = "Perfetto trace";
  recording.source.bytes = bytes.size();
  recording.event_cost_ns = {profile::Status::kUnavailable,
                             "the trace does not tell what recording an event cost"};
  return recording;
}

Result<profile::Recording> Read(std::string_view bytes, const std::string& path,
                                const profile::ReadOptions& options, const base::MappedFile* file) {
  INFERPROBE_RETURN_IF_ERROR(CheckStart(bytes, path, options));
  profile::Recording recording = StartRecording(bytes, path);
  {
    PacketReader reader(&recording, bytes.size());
    size_t given_back = 0;
    reader.ReadAll(bytes, [&](size_t at) {
      if (file == nullptr || at - given_back < kWindowBytes) return;
      file->GiveBack(at);
      given_back = at;
    });
    reader.Finish();
  }
  return recording;
}

}  // namespace

bool LooksLikeTrace(std::string_view head, uint64_t file_bytes) {
  std::string_view rest = head;
  bool any = false;
  size_t packets = 0;
  while (!rest.empty()) {
    if (static_cast<unsigned char>(rest.front()) != BytesKey(Trace::kPacket)) {
      return any && packets > 1;  // one may be chance
    }
    rest.remove_prefix(1);
    uint64_t size = 0;
    if (rest.empty() || !TakeVarint(rest, size)) return any;
    const size_t there = std::min<uint64_t>(size, rest.size());
    switch (LookAt(rest.substr(0, there), there == size)) {
      case Look::kNo:
        // Behind a good packet, a damaged one is a trace's damage.
        return any;
      case Look::kYes:
        any = true;
        break;
      case Look::kEmpty:
        break;
    }
    if (there < size) return any && (packets > 0 || size <= file_bytes);
    ++packets;
    rest.remove_prefix(there);
  }
  return any;
}

Result<profile::Recording> ReadTrace(const std::string& path, const profile::ReadOptions& options) {
  const auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  auto recording = Read(file->bytes(), path, options, &*file);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  return recording;
}

Result<profile::Recording> ReadTraceBytes(std::string_view bytes, const std::string& path,
                                          const profile::ReadOptions& options) {
  return Read(bytes, path, options, nullptr);
}

}  // namespace inferprobe::perfetto
