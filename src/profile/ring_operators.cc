// What a framework's own profiler recorded, out of a ring: what RingImporter makes of it.
#include "profile/ring_import.h"

namespace inferprobe::profile {
namespace {

using record::Cell;

std::optional<int64_t> TimeNs(uint64_t value) {
  if (value > uint64_t{kLatestNs}) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace

std::optional<Slice> RingImporter::TimedInNs(const Cell& cell) {
  return Timed(cell, TimeNs(cell.start), TimeNs(cell.end));
}

void RingImporter::AddOperator(const Cell& cell) {
  const std::optional<Slice> slice = TimedInNs(cell);
  if (!slice) {
    operators_->SkipOperator();
    return;
  }
  operators_->AddOperator(
      {slice->start_ns, slice->start_ns + slice->dur_ns, slice->name, int64_t{cell.id}});
}

void RingImporter::AddAllocation(const Cell& cell) {
  const std::optional<int64_t> time = TimeNs(cell.start);
  if (!time || Info24(cell) > 1) {
    profile_->losses.Add(Loss::kDamagedRecord);
    return;
  }
  operators_->AddAllocation(
      {*time, static_cast<int64_t>(cell.end), int64_t{cell.id}, Info24(cell) == 1});
}

void RingImporter::AddDeviceWork(const Cell& cell) {
  const std::optional<Slice> slice = TimedInNs(cell);
  if (!slice) return;
  operators_->AddDeviceWork(
      {slice->start_ns, slice->start_ns + slice->dur_ns, slice->name, cell.id, cell.parent});
}

}  // namespace inferprobe::profile
