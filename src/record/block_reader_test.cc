#include "record/block_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"

namespace inferprobe::record {
namespace {

// Page-aligned memory of exactly so many bytes, so that a sanitizer sees the first one beyond.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::span<const std::byte> bytes)
      : data_(static_cast<std::byte*>(operator new(bytes.size(), std::align_val_t{64}))),
        size_(bytes.size()) {
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~AlignedBytes() { operator delete(data_, std::align_val_t{64}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::byte* data() { return data_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  Header* header() { return reinterpret_cast<Header*>(data_); }

 private:
  std::byte* data_;
  size_t size_;
};

// A block of two rings with a few events, as a copy.
std::unique_ptr<AlignedBytes> SmallBlock() {
  Result<Recorder> recorder = Recorder::Start(
      {.events_per_thread = 8, .max_threads = 2, .name_bytes = 1024, .process_name = "small"});
  for (int i = 0; i < 3; ++i) {
    INFERPROBE_SCOPE("outer");
    INFERPROBE_SCOPE("inner");
  }
  return std::make_unique<AlignedBytes>(std::span<const std::byte>(
      static_cast<const std::byte*>(recorder->memory()), recorder->memory_bytes()));
}

// Reads all that can be read; how many cells that were, or -1 for an error.
int ReadAll(std::span<const std::byte> bytes) {
  Result<BlockReader> reader = BlockReader::Open(bytes, "hostile", BlockReader::Access::kReadOnly);
  if (!reader) {
    EXPECT_FALSE(reader.error().message.empty());
    return -1;
  }
  int count = 0;
  size_t text = 0;
  for (uint32_t i = 0; i < reader->facts().ring_count; ++i) {
    const BlockReader::Cells cells = reader->Unread(i);
    for (uint64_t at = cells.begin; at != cells.end; ++at, ++count) {
      const Cell cell = cells.At(at);
      if (auto name = reader->Name(cell.name)) text += name->size();
      if (auto ns = reader->facts().ToNs(cell.start)) text += *ns > 0;
    }
    reader->Consume(i, cells.end);
    text += reader->Dropped(i);
  }
  const volatile size_t keep = text + reader->NoRing() + reader->NamesLost();
  static_cast<void>(keep);
  return count;
}

TEST(BlockReader, ReadsWhatWasWritten) {
  const auto block = SmallBlock();
  EXPECT_EQ(ReadAll(block->bytes()), 6);
}

TEST(BlockReader, ErrorsNameTheByte) {
  struct Case {
    const char* name;
    void (*break_it)(Header&);
    const char* expected;
  };
  const Case cases[] = {
      {"magic", [](Header& h) { h.magic = 0; }, "x.ring: byte 0: no recorder's mark"},
      {"version", [](Header& h) { h.version = 99; }, "byte 8: layout version 99"},
      {"no rings", [](Header& h) { h.ring_count = 0; }, "byte 12: 0 rings"},
      {"many rings", [](Header& h) { h.ring_count = 1U << 30; }, "byte 12: "},
      {"capacity", [](Header& h) { h.ring_capacity = 24; }, "byte 16: rings of 24 cells"},
      {"huge capacity", [](Header& h) { h.ring_capacity = uint64_t{1} << 63; }, "byte 16: "},
      {"large capacity", [](Header& h) { h.ring_capacity = uint64_t{1} << 40; }, "do not fit"},
      {"names", [](Header& h) { h.names_offset = ~uint64_t{0}; }, "byte 24: names"},
      {"names over rings", [](Header& h) { h.names_offset = 64; }, "byte 24: names"},
      {"names' length", [](Header& h) { h.names_bytes = ~uint64_t{0}; }, "byte 24: names"},
      {"cells", [](Header& h) { h.cells_offset = ~uint64_t{63}; }, "byte 40: "},
      {"odd cells", [](Header& h) { h.cells_offset += 8; }, "byte 40: "},
      {"length", [](Header& h) { h.total_bytes += 1; }, "ends, but should have"},
      {"rate", [](Header& h) { h.ns_per_tick = 0; }, "no duration of a tick"},
      {"rate is not a number", [](Header& h) { h.ns_per_tick = __builtin_nan(""); },
       "no duration of a tick"},
      {"costs", [](Header& h) { h.event_ns = -1; }, "no costs"},
  };
  const auto good = SmallBlock();
  for (const Case& test : cases) {
    AlignedBytes block(good->bytes());
    test.break_it(*block.header());
    Result<BlockReader> reader =
        BlockReader::Open(block.bytes(), "x.ring", BlockReader::Access::kReadOnly);
    ASSERT_FALSE(reader) << test.name;
    EXPECT_NE(reader.error().message.find(test.expected), std::string::npos)
        << test.name << ": " << reader.error().message;
  }
}

TEST(BlockReader, RefusesEveryTruncation) {
  const auto block = SmallBlock();
  const std::span<const std::byte> bytes = block->bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    const AlignedBytes cut(bytes.first(length));
    ASSERT_EQ(ReadAll(cut.bytes()), -1) << length;
  }
}

TEST(BlockReader, SurvivesEveryFlippedByte) {
  const auto good = SmallBlock();
  AlignedBytes block(good->bytes());
  for (size_t at = 0; at < block.bytes().size(); ++at) {
    for (const auto bits : {std::byte{0xFF}, std::byte{0x01}, std::byte{0x80}}) {
      block.data()[at] ^= bits;
      const int count = ReadAll(block.bytes());
      ASSERT_LE(count, 16) << at;  // two rings of 8
      block.data()[at] ^= bits;
    }
  }
  EXPECT_EQ(ReadAll(block.bytes()), 6);
}

TEST(BlockReader, PositionsThatCannotBeAreDamage) {
  const auto block = SmallBlock();
  auto* ring = reinterpret_cast<RingHeader*>(block->data() + sizeof(Header));
  ring->head = 1000;
  Result<BlockReader> reader =
      BlockReader::Open(block->bytes(), "x", BlockReader::Access::kReadOnly);
  const BlockReader::Cells cells = reader->Unread(0);
  EXPECT_TRUE(cells.damaged);
  EXPECT_EQ(cells.begin, cells.end);
}

TEST(BlockReader, TimesBeyondAllSenseAreNone) {
  BlockFacts facts;
  facts.ns_per_tick = 1e6;
  EXPECT_EQ(facts.ToNs(uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(facts.ToNs(5), 5'000'000);
  facts.anchor_ns = INT64_MAX;
  EXPECT_EQ(facts.ToNs(1), std::nullopt);
}

}  // namespace
}  // namespace inferprobe::record
