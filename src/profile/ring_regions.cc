// Parallel regions out of a ring: what RingImporter makes of them.
#include <fmt/format.h>

#include <algorithm>

#include "profile/ring_import.h"

namespace inferprobe::profile {

uint64_t RingImporter::ReadRegion(Ring& ring, const record::BlockReader::Cells& cells,
                                  uint64_t at) {
  bool whole = false;
  const uint64_t used = ReadRegionCells(cells, at, &region_, &whole);
  if (whole) {
    AddRegion(ring);
  } else {
    profile_->losses.Add(Loss::kDamagedRecord);
  }
  return used;
}

void RingImporter::AddRegion(Ring& ring) {
  Region region = region_.region;
  for (uint32_t* name : {&region.file, &region.function, &region.code}) *name = Name(*name);
  SliceArgs args;
  args.instruction = region_.instruction;
  args.region = static_cast<uint32_t>(profile_->regions.size());
  profile_->regions.push_back(region);

  Slice slice;
  slice.start_ns = region_.start_ns;
  slice.dur_ns = region_.end_ns - region_.start_ns;
  slice.name = Name(region_.label);
  slice.track = static_cast<uint16_t>(RegionsTrack(ring, region_.thread_id));
  slice.category = Category::kRegion;
  slice.parent = EndedSlice(ring, region_.operator_slice);
  // No two are alike: nothing to be found again.
  slice.args = static_cast<uint32_t>(profile_->args.size());
  profile_->args.push_back(args);
  const auto index = static_cast<uint32_t>(profile_->slices.size());
  profile_->slices.push_back(slice);
  // Its operator still runs: a scope of the program's own. Only behind what waits for the same or
  // an outer one, as they are given their parents in this order.
  if (slice.parent == kNone && region_.operator_slice != 0 &&
      (ring.waiting.empty() ||
       OpenedNotBefore(region_.operator_slice, ring.waiting.back().parent_id))) {
    ring.waiting.push_back({index, region_.operator_slice});
  }

  for (const RegionCells::Part& from : region_.parts) {
    RegionPart part = from.part;
    part.region = args.region;
    SliceArgs part_args;
    part_args.region_part = static_cast<uint32_t>(profile_->region_parts.size());
    profile_->region_parts.push_back(part);
    Slice part_slice;
    part_slice.start_ns = from.start_ns;
    part_slice.dur_ns = from.end_ns - from.start_ns;
    part_slice.name = slice.name;
    part_slice.track = static_cast<uint16_t>(ParticipantTrack(from.thread_id));
    part_slice.category = Category::kRegionPart;
    part_slice.parent = index;
    part_slice.args = static_cast<uint32_t>(profile_->args.size());
    profile_->args.push_back(part_args);
    profile_->slices.push_back(part_slice);
  }
}

uint32_t RingImporter::EndedSlice(Ring& ring, uint32_t id) {
  if (id == 0) return kNone;
  if (!std::exchange(ring.ended_sorted, true)) std::sort(ring.ended.begin(), ring.ended.end());
  const auto found =
      std::lower_bound(ring.ended.begin(), ring.ended.end(), std::pair<uint32_t, uint32_t>{id, 0});
  return found != ring.ended.end() && found->first == id ? found->second : kNone;
}

uint32_t RingImporter::RegionsTrack(Ring& ring, int64_t thread_id) {
  const int64_t own = profile_->tracks[ring.track].tid;
  if (thread_id == 0) thread_id = own;
  auto [place, fresh] = ring.regions_tracks.try_emplace(thread_id, kNone);
  if (!fresh) return place->second;
  Track track;
  track.name = thread_id == own ? std::string("parallel regions")
                                : fmt::format("parallel regions of thread {}", thread_id);
  track.type = TrackType::kRegions;
  track.pid = reader_->facts().pid;
  track.tid = thread_id;
  track.parent = ring.track;
  return place->second = AddTrack(std::move(track));
}

uint32_t RingImporter::ParticipantTrack(int64_t thread_id) {
  auto [place, fresh] = participant_tracks_.try_emplace(thread_id, kNone);
  if (!fresh) return place->second;
  Track track;
  track.name = fmt::format("thread {} in parallel regions", thread_id);
  track.type = TrackType::kParticipant;
  track.pid = reader_->facts().pid;
  track.tid = thread_id;
  return place->second = AddTrack(std::move(track));
}

}  // namespace inferprobe::profile
