// The reading side of the recorder's memory: of this process, of a live worker, or of the file that
// a killed process left.
//
//   auto reader = BlockReader::Open(bytes, "worker 0", BlockReader::Access::kConsume);
//   for (uint32_t i = 0; i < reader->facts().ring_count; ++i) {
//     const BlockReader::Cells cells = reader->Unread(i);
//     for (uint64_t at = cells.begin; at != cells.end; ++at) Use(cells.At(at));
//     reader->Consume(i, cells.end);
//   }
//
// The rule that people break: nothing in the memory is trusted. The writer may be dead, hostile, or
// writing while we read, so every field is read once, checked, and used from the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "record/layout.h"

namespace inferprobe::record {

// Whether these first bytes of a file are a recorder's, by its magic number.
INFERPROBE_API bool LooksLikeBlock(std::string_view head);

// What the header says, checked.
struct INFERPROBE_API BlockFacts {
  uint32_t ring_count = 0;
  uint64_t ring_capacity = 0;
  int64_t pid = 0;
  std::string run_id;
  std::string process_name;
  bool tsc = false;
  uint64_t anchor_ticks = 0;
  int64_t anchor_ns = 0;
  double ns_per_tick = 1;
  double tick_ns = 0;
  double clock_read_ns = 0;
  double event_ns = 0;
  int64_t realtime_minus_monotonic_ns = 0;
  int64_t boottime_minus_monotonic_ns = 0;

  // nullopt: no time that 64 bits of nanoseconds hold.
  [[nodiscard]] std::optional<int64_t> ToNs(uint64_t ticks) const;
};

class INFERPROBE_API BlockReader {
 public:
  enum class Access : uint8_t {
    kReadOnly,  // the memory is not written; this reader remembers how far it got
    kConsume,   // the writer is told, and reuses the room
  };
  // `bytes` outlive the reader and start on a page (or at least on 64 bytes). `what` names them in
  // errors, which also give the byte.
  static Result<BlockReader> Open(std::span<const std::byte> bytes, std::string_view what,
                                  Access access);

  [[nodiscard]] const BlockFacts& facts() const { return facts_; }

  // The cells of a ring that were published and not consumed yet, and whose they are.
  struct Cells {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t owner = 0;  // another value: the ring went to another thread
    int64_t tid = 0;
    std::string thread_name;
    bool damaged = false;  // positions that cannot be; nothing is read from the ring then

    [[nodiscard]] Cell At(uint64_t position) const { return base[position & mask]; }

    const Cell* base = nullptr;
    uint64_t mask = 0;
  };
  // Precondition: ring < ring_count.
  [[nodiscard]] Cells Unread(uint32_t ring) const;
  void Consume(uint32_t ring, uint64_t end);

  // nullopt: lost, or never was.
  std::optional<std::string_view> Name(uint32_t id);

  // Counts since the recorder started.
  [[nodiscard]] uint64_t Dropped(uint32_t ring) const;
  [[nodiscard]] uint64_t NoRing() const;
  [[nodiscard]] uint64_t NamesLost() const;

 private:
  BlockReader() = default;
  [[nodiscard]] const Header* header() const {
    return reinterpret_cast<const Header*>(bytes_.data());
  }
  [[nodiscard]] const RingHeader* ring_header(uint32_t ring) const {
    return reinterpret_cast<const RingHeader*>(bytes_.data() + sizeof(Header)) + ring;
  }
  void ReadNames();

  std::span<const std::byte> bytes_;
  Access access_ = Access::kReadOnly;
  BlockFacts facts_;
  uint64_t cells_offset_ = 0;
  std::span<const std::byte> name_bytes_;
  std::vector<uint64_t> tails_;
  // Names read so far, by id - 1, as places in name_bytes_; length kLostName: lost.
  struct NamePlace {
    uint64_t offset;
    uint32_t length;
  };
  std::vector<NamePlace> names_;
  uint64_t names_read_ = 0;
  bool names_damaged_ = false;
};

}  // namespace inferprobe::record
