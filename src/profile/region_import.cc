#include "profile/region_import.h"

#include <limits>

#include "profile/model.h"
#include "record/layout.h"

namespace inferprobe::profile {
namespace {

using record::Cell;
using record::CellType;

constexpr uint64_t kFacts = 4;
constexpr uint32_t kMostCount = uint32_t{std::numeric_limits<int32_t>::max()};

bool ToStatus(uint32_t value, Status* status) {
  if (value > static_cast<uint32_t>(Status::kNotMeasured)) return false;
  *status = static_cast<Status>(value);
  return true;
}

bool ToTimes(const Cell& cell, int64_t* start_ns, int64_t* end_ns) {
  if (cell.start == 0 || cell.start > cell.end || cell.end > uint64_t{kLatestNs}) return false;
  *start_ns = static_cast<int64_t>(cell.start);
  *end_ns = static_cast<int64_t>(cell.end);
  return true;
}

// The cells of a region that is not whole: what follows it and belongs to nothing else.
uint64_t CellsOfDamaged(const record::BlockReader::Cells& cells, uint64_t at) {
  uint64_t used = 1;
  while (at + used != cells.end) {
    const CellType type = TypeOf(cells.At(at + used));
    if (type != CellType::kRegionFacts && type != CellType::kRegionPart) break;
    ++used;
  }
  return used;
}

bool ReadFacts(const record::BlockReader::Cells& cells, uint64_t at, RegionCells* group) {
  const Cell first = cells.At(at);
  const Cell loop = cells.At(at + 1);
  const Cell where = cells.At(at + 2);
  const Cell cpu = cells.At(at + 3);
  Region& region = group->region;
  region = {};
  const uint32_t flags = Info24(first);
  constexpr uint32_t kBitsOfStatus = 0xF;
  if (!ToStatus(flags >> record::kRegionProcessCpuShift & kBitsOfStatus,
                &region.process_cpu_status) ||
      !ToStatus(flags >> record::kRegionParticipantsShift & kBitsOfStatus,
                &region.participants_status)) {
    return false;
  }
  for (const uint32_t count : {loop.name, loop.id, loop.parent, where.id}) {
    if (count > kMostCount) return false;
  }
  region.id = first.start;
  region.parent = first.end;
  region.file = first.name;
  region.line = first.id;
  region.function = first.parent;
  region.nested_inline = (flags & record::kRegionNestedInline) != 0;
  region.failed = (flags & record::kRegionFailed) != 0;
  region.iterations = static_cast<int64_t>(loop.start);
  region.grain = static_cast<int64_t>(loop.end);
  region.requested = static_cast<int32_t>(loop.name);
  region.admitted = static_cast<int32_t>(loop.id);
  region.observed = static_cast<int32_t>(loop.parent);
  region.session = where.start;
  region.run = where.end;
  region.executor = where.name;
  region.participants_dropped = where.id;
  region.code = where.parent;
  region.process_cpu_ns = cpu.start;
  group->thread_id = cpu.name;
  return region.id != 0 && region.process_cpu_ns <= uint64_t{kLatestNs};
}

bool ReadPart(const Cell& times, const Cell& facts, RegionCells::Part* part) {
  part->thread_id = times.name;
  part->part.chunks = times.id;
  part->part.migrations = times.parent;
  part->part.iterations = facts.start;
  part->part.cpu_ns = facts.end;
  part->part.first_cpu = static_cast<int32_t>(facts.name);
  part->part.last_cpu = static_cast<int32_t>(facts.id);
  return ToTimes(times, &part->start_ns, &part->end_ns) && facts.end <= uint64_t{kLatestNs} &&
         ToStatus(facts.parent, &part->part.cpu_status);
}

bool ReadWhole(const record::BlockReader::Cells& cells, uint64_t at, uint64_t participants,
               RegionCells* group) {
  const Cell cell = cells.At(at);
  group->label = cell.name;
  group->operator_slice = cell.parent;
  group->instruction =
      Info24(cell) == record::kNoInstruction ? -1 : static_cast<int32_t>(Info24(cell));
  if (!ToTimes(cell, &group->start_ns, &group->end_ns)) return false;
  if (!ReadFacts(cells, at + 1, group)) return false;
  group->parts.clear();
  for (uint64_t i = 0; i < participants; ++i) {
    const uint64_t first = at + 1 + kFacts + 2 * i;
    if (!ReadPart(cells.At(first), cells.At(first + 1), &group->parts.emplace_back())) return false;
  }
  // Every participant is there, or counted as dropped.
  const Region& region = group->region;
  return static_cast<uint64_t>(region.observed) == participants + region.participants_dropped;
}

}  // namespace

uint64_t ReadRegionCells(const record::BlockReader::Cells& cells, uint64_t at, RegionCells* group,
                         bool* whole) {
  *whole = false;
  const uint64_t participants = cells.At(at).id;
  const uint64_t count = 1 + kFacts + 2 * participants;
  if (count > cells.end - at) return CellsOfDamaged(cells, at);
  for (uint64_t i = 1; i < count; ++i) {
    const CellType wanted = i <= kFacts ? CellType::kRegionFacts : CellType::kRegionPart;
    if (TypeOf(cells.At(at + i)) != wanted) return CellsOfDamaged(cells, at);
  }
  *whole = ReadWhole(cells, at, participants, group);
  return count;
}

}  // namespace inferprobe::profile
