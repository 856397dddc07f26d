#include "record/block_reader.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace inferprobe::record {
namespace {

Error Malformed(std::string_view what, size_t offset, std::string_view problem) {
  return {ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", what, offset, problem),
          "this is no file of inferprobe's recorder, or it was damaged"};
}

template <size_t N>
std::string TextOf(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

bool IsDuration(double ns) { return std::isfinite(ns) && ns >= 0 && ns < 1e9; }

}  // namespace

bool LooksLikeBlock(std::string_view head) {
  uint64_t magic = 0;
  if (head.size() < sizeof magic) return false;
  std::memcpy(&magic, head.data() + offsetof(Header, magic), sizeof magic);
  return magic == kMagic;
}

std::optional<int64_t> BlockFacts::ToNs(uint64_t ticks) const {
  const auto delta = static_cast<int64_t>(ticks - anchor_ticks);
  const double ns = std::round(static_cast<double>(delta) * ns_per_tick);
  constexpr double kLimit = 4.0e18;  // so that the difference of two times fits, too
  if (std::abs(ns) > kLimit || std::abs(static_cast<double>(anchor_ns) + ns) > kLimit) {
    return std::nullopt;
  }
  return anchor_ns + static_cast<int64_t>(ns);
}

Result<BlockReader> BlockReader::Open(std::span<const std::byte> bytes, std::string_view what,
                                      Access access) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(Header) != 0) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: not aligned in memory", what));
  }
  const auto malformed = [&](size_t offset, std::string_view problem) {
    return tl::unexpected<Error>(Malformed(what, offset, problem));
  };
  if (bytes.size() < sizeof(Header)) {
    return malformed(bytes.size(),
                     fmt::format("ends inside the header of {} bytes", sizeof(Header)));
  }
  const auto* header = reinterpret_cast<const Header*>(bytes.data());
  if (header->magic.load(std::memory_order_acquire) != kMagic) {
    return malformed(offsetof(Header, magic), "no recorder's mark (\"IPPRING1\")");
  }
  if (const uint32_t version = header->version; version != kLayoutVersion) {
    return tl::unexpected<Error>(
        Error{ErrorCode::kUnsupported,
              fmt::format("{}: byte {}: layout version {}, this build reads {}", what,
                          offsetof(Header, version), version, kLayoutVersion),
              "read it with the version of inferprobe that recorded it"});
  }

  BlockReader reader;
  reader.bytes_ = bytes;
  reader.access_ = access;
  BlockFacts& facts = reader.facts_;
  facts.ring_count = header->ring_count;
  if (facts.ring_count == 0 || facts.ring_count > kMaxRings) {
    return malformed(offsetof(Header, ring_count), fmt::format("{} rings", facts.ring_count));
  }
  facts.ring_capacity = header->ring_capacity;
  if (!std::has_single_bit(facts.ring_capacity) || facts.ring_capacity > (uint64_t{1} << 40)) {
    return malformed(offsetof(Header, ring_capacity),
                     fmt::format("rings of {} cells, no power of two", facts.ring_capacity));
  }
  const uint64_t total = header->total_bytes;
  if (total > bytes.size()) {
    return malformed(bytes.size(), fmt::format("ends, but should have {} bytes", total));
  }
  const uint64_t names_offset = header->names_offset;
  const uint64_t names_bytes = header->names_bytes;
  if (names_offset < sizeof(Header) + facts.ring_count * sizeof(RingHeader) ||
      names_offset > total || names_bytes > total - names_offset) {
    return malformed(offsetof(Header, names_offset),
                     fmt::format("names at {}, {} bytes, do not fit", names_offset, names_bytes));
  }
  reader.cells_offset_ = header->cells_offset;
  if (reader.cells_offset_ % alignof(RingHeader) != 0 ||
      reader.cells_offset_ < names_offset + names_bytes || reader.cells_offset_ > total ||
      facts.ring_count > (total - reader.cells_offset_) / sizeof(Cell) / facts.ring_capacity) {
    return malformed(offsetof(Header, cells_offset),
                     fmt::format("{} rings of {} cells at {} do not fit", facts.ring_count,
                                 facts.ring_capacity, reader.cells_offset_));
  }
  facts.ns_per_tick = header->ns_per_tick;
  if (!std::isfinite(facts.ns_per_tick) || facts.ns_per_tick <= 0 || facts.ns_per_tick > 1e6) {
    return malformed(offsetof(Header, ns_per_tick), "no duration of a tick");
  }
  facts.tick_ns = header->tick_ns;
  facts.clock_read_ns = header->clock_read_ns;
  facts.event_ns = header->event_ns;
  if (!IsDuration(facts.tick_ns) || !IsDuration(facts.clock_read_ns) ||
      !IsDuration(facts.event_ns)) {
    return malformed(offsetof(Header, tick_ns), "no costs of recording");
  }
  facts.pid = header->pid;
  facts.run_id = TextOf(header->run_id);
  facts.process_name = TextOf(header->process_name);
  facts.tsc = header->tsc != 0;
  facts.anchor_ticks = header->anchor_ticks;
  facts.anchor_ns = header->anchor_ns;
  facts.realtime_minus_monotonic_ns = header->realtime_minus_monotonic_ns;
  facts.boottime_minus_monotonic_ns = header->boottime_minus_monotonic_ns;
  reader.name_bytes_ = bytes.subspan(names_offset, names_bytes);
  reader.tails_.resize(facts.ring_count);
  for (uint32_t i = 0; i < facts.ring_count; ++i) {
    reader.tails_[i] = reader.ring_header(i)->tail.load(std::memory_order_acquire);
  }
  return reader;
}

BlockReader::Cells BlockReader::Unread(uint32_t ring) const {
  const RingHeader* header = ring_header(ring);
  Cells cells;
  const uint64_t head = header->head.load(std::memory_order_acquire);
  cells.begin = tails_[ring];
  cells.end = head;
  if (head == cells.begin) return cells;
  if (head - cells.begin > facts_.ring_capacity) {
    cells.end = cells.begin;
    cells.damaged = true;
    return cells;
  }
  cells.owner = header->owner.load(std::memory_order_relaxed);
  cells.tid = header->tid;
  cells.thread_name = TextOf(header->thread_name);
  cells.base =
      reinterpret_cast<const Cell*>(bytes_.data() + cells_offset_) + ring * facts_.ring_capacity;
  cells.mask = facts_.ring_capacity - 1;
  return cells;
}

void BlockReader::Consume(uint32_t ring, uint64_t end) {
  tails_[ring] = end;
  if (access_ != Access::kConsume) return;
  const_cast<RingHeader*>(ring_header(ring))->tail.store(end, std::memory_order_release);
}

void BlockReader::ReadNames() {
  const uint32_t count = header()->names_count.load(std::memory_order_acquire);
  while (names_.size() < count && !names_damaged_) {
    uint32_t length = 0;
    if (name_bytes_.size() - names_read_ < sizeof length) {
      names_damaged_ = true;
      return;
    }
    std::memcpy(&length, name_bytes_.data() + names_read_, sizeof length);
    names_read_ += sizeof length;
    const uint64_t text_bytes = length == kLostName ? 0 : length;
    if (text_bytes > name_bytes_.size() - names_read_) {
      names_damaged_ = true;
      return;
    }
    names_.push_back({names_read_, length});
    names_read_ += text_bytes;
  }
}

std::optional<std::string_view> BlockReader::Name(uint32_t id) {
  if (id == 0) return "";
  if (id > names_.size()) ReadNames();
  if (id > names_.size() || names_[id - 1].length == kLostName) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(name_bytes_.data()) + names_[id - 1].offset,
                          names_[id - 1].length);
}

uint64_t BlockReader::Dropped(uint32_t ring) const {
  return ring_header(ring)->dropped.load(std::memory_order_relaxed);
}
uint64_t BlockReader::NoRing() const { return header()->no_ring.load(std::memory_order_relaxed); }
uint64_t BlockReader::NamesLost() const {
  return header()->names_lost.load(std::memory_order_relaxed);
}

}  // namespace inferprobe::record
