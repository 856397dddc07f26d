#include "formats/etdump/etdump_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace inferprobe::etdump {
namespace {

constexpr std::string_view kIdentifier = "ED00";
constexpr size_t kOffsetBytes = 4;
constexpr size_t kHeadBytes = 12;  // size, offset of the root, identifier
constexpr uint32_t kKnownVersion = 0;
// What an event takes at least, in a file in which no two share one: its offset, the table of the
// event and that of its part.
constexpr uint64_t kLeastEventBytes = 16;
// A block: its offset and its table.
constexpr uint64_t kLeastBlockBytes = 8;

uint32_t Scalar32(std::string_view bytes, size_t at) {
  return flatbuffers::ReadScalar<uint32_t>(bytes.data() + at);
}

// "ED" and a version: also one that this reader refuses, so that it can say so.
bool IsIdentifier(std::string_view text) {
  const auto digit = [&](size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  return text.size() >= 4 && text.starts_with("ED") && digit(2) && digit(3);
}

flatbuffers::Verifier::Options VerifierOptions() {
  flatbuffers::Verifier::Options options;
  options.max_tables = ~0U;  // the walk itself bounds what it visits
  return options;
}

}  // namespace

bool LooksLikeEtdump(std::string_view head) {
  return IsIdentifier(head.substr(std::min(kHeadBytes - kOffsetBytes, head.size()))) ||
         IsIdentifier(head.substr(std::min(kOffsetBytes, head.size())));
}

Walk::Walk(std::string_view bytes, std::string path)
    : bytes_(bytes),
      path_(std::move(path)),
      verifier_(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), VerifierOptions()),
      event_check_(bytes) {}

tl::unexpected<Error> Walk::Broken(size_t byte, std::string_view what) const {
  return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", path_, byte, what),
                   "the file is damaged or cut: copy or record it again");
}

Result<Walk> Walk::Open(std::string_view bytes, std::string path) {
  const auto broken = [&](size_t byte, std::string_view what, std::string hint) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", path, byte, what),
                     std::move(hint));
  };
  if (bytes.empty()) {
    return broken(0, "the file is empty",
                  "a runtime that was built without ET_EVENT_TRACER_ENABLED records nothing");
  }
  const bool plain = bytes.size() >= kHeadBytes - kOffsetBytes && bytes.substr(4, 4) == kIdentifier;
  if (bytes.size() < kHeadBytes && !plain) {
    return broken(bytes.size(),
                  fmt::format("the file ends; the head of an ETDump has {} bytes", kHeadBytes),
                  "the file is cut: copy or record it again");
  }
  if (!plain && bytes.substr(8, 4) != kIdentifier) {
    return broken(8,
                  fmt::format("\"{}\" where the identifier \"{}\" should be",
                              base::ShownBytes(bytes.substr(8, 4)), kIdentifier),
                  "this is no ETDump of a known version");
  }
  if (!plain) {
    const uint64_t said = uint64_t{Scalar32(bytes, 0)} + kOffsetBytes;
    if (said > bytes.size()) {
      return broken(bytes.size(), fmt::format("the file ends; by its head it has {} bytes", said),
                    "the file is cut: copy or record it again");
    }
    if (said < bytes.size()) {
      return broken(said, fmt::format("{} bytes follow the end of the ETDump", bytes.size() - said),
                    "one file holds one ETDump");
    }
  }
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return broken(FLATBUFFERS_MAX_BUFFER_SIZE, "a flatbuffer cannot be larger",
                  "record fewer runs in one file");
  }
  Walk walk(bytes, std::move(path));
  INFERPROBE_RETURN_IF_ERROR(walk.FindBlocks(plain ? 0 : kOffsetBytes));
  return walk;
}

// The table that the offset at `offset_at` leads to; nullptr: it leads to none.
template <typename Table>
const Table* Walk::TableAt(size_t offset_at) {
  const flatbuffers::uoffset_t offset = verifier_.VerifyOffset(offset_at);
  if (offset == 0) return nullptr;
  const auto* at = reinterpret_cast<const uint8_t*>(bytes_.data()) + offset_at + offset;
  return reinterpret_cast<const Table*>(at);
}

Result<void> Walk::FindBlocks(uint32_t root_offset_at) {
  const auto* root = TableAt<flatbuffers::Table>(root_offset_at);
  if (root == nullptr) return Broken(root_offset_at, "an offset that leads out of the file");
  const auto at = static_cast<size_t>(reinterpret_cast<const char*>(root) - bytes_.data());
  using Dump = ::etdump::ETDump;
  const bool sound = verifier_.VerifyTableStart(reinterpret_cast<const uint8_t*>(root)) &&
                     root->VerifyField<uint32_t>(verifier_, Dump::VT_VERSION, sizeof(uint32_t)) &&
                     root->VerifyOffset(verifier_, Dump::VT_RUN_DATA);
  if (!sound || !verifier_.EndTable()) return Broken(at, "the root is no table");
  const auto* dump = reinterpret_cast<const Dump*>(root);
  if (dump->version() != kKnownVersion) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{}: byte {}: an ETDump of version {}; only {} is known", path_,
                                 at, dump->version(), kKnownVersion),
                     "a newer inferprobe may read it");
  }
  if (dump->run_data() == nullptr) return {};
  const auto list =
      static_cast<size_t>(reinterpret_cast<const char*>(dump->run_data()) - bytes_.data());
  if (!verifier_.VerifyVector(dump->run_data())) {
    return Broken(list, "a list of blocks that reaches beyond the file");
  }
  blocks_ = dump->run_data()->size();
  first_block_ = list + kOffsetBytes;
  if (blocks_ > bytes_.size() / kLeastBlockBytes) {
    return Broken(list, fmt::format("{} blocks are more than the file can hold", blocks_));
  }
  return {};
}

Result<uint64_t> Walk::CountEvents() {
  uint64_t events = 0;
  for (uint32_t i = 0; i < blocks_; ++i) {
    auto block = OpenBlock(i);
    if (!block) return tl::unexpected(block.error());
    events += block->events;
    if (events > bytes_.size() / kLeastEventBytes) {
      return Broken(
          block->first,
          fmt::format("{} events in {} blocks are more than the file can hold", events, i + 1));
    }
  }
  return events;
}

Result<Walk::Block> Walk::OpenBlock(uint32_t index) {
  using Run = ::etdump::RunData;
  const size_t offset_at = first_block_ + size_t{index} * kOffsetBytes;
  const auto* table = TableAt<flatbuffers::Table>(offset_at);
  if (table == nullptr) {
    return Broken(offset_at, fmt::format("block {} lies outside of the file", index));
  }
  const auto at = static_cast<size_t>(reinterpret_cast<const char*>(table) - bytes_.data());
  const auto* run = reinterpret_cast<const Run*>(table);
  // All but the events, which are verified one by one.
  const bool sound =
      verifier_.VerifyTableStart(reinterpret_cast<const uint8_t*>(table)) &&
      table->VerifyOffset(verifier_, Run::VT_NAME) && verifier_.VerifyString(run->name()) &&
      table->VerifyField<int32_t>(verifier_, Run::VT_BUNDLED_INPUT_INDEX, sizeof(int32_t)) &&
      table->VerifyOffset(verifier_, Run::VT_EVENTS) && verifier_.VerifyVector(run->events());
  if (!sound || !verifier_.EndTable()) return Broken(at, fmt::format("block {} is broken", index));
  Block block;
  block.index = index;
  if (run->name() != nullptr) block.name = {run->name()->c_str(), run->name()->size()};
  if (run->events() == nullptr) return block;
  block.events = run->events()->size();
  block.first = static_cast<size_t>(reinterpret_cast<const char*>(run->events()) - bytes_.data()) +
                kOffsetBytes;
  return block;
}

const ::etdump::Event* Walk::EventOf(const Block& block, uint32_t index) {
  const auto* event = TableAt<::etdump::Event>(block.first + size_t{index} * kOffsetBytes);
  if (event == nullptr) return nullptr;
  const auto at = static_cast<size_t>(reinterpret_cast<const char*>(event) - bytes_.data());
  return event_check_.IsSound(at) ? event : nullptr;
}

tl::unexpected<Error> Walk::BrokenEvent(const Block& block, uint32_t index) const {
  const size_t offset_at = block.first + size_t{index} * kOffsetBytes;
  const size_t offset = verifier_.VerifyOffset(offset_at);
  return Broken(offset_at + offset,
                fmt::format("event {} of block {} is broken", index, block.index));
}

}  // namespace inferprobe::etdump
