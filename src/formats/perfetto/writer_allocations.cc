// Writer's part for allocations: each is a sample of a counter of allocated bytes, which Perfetto
// draws as a line, and says itself how many bytes it was and in which slice.

#include "base/saturating.h"
#include "formats/perfetto/packet_out.h"
#include "formats/perfetto/track_mark.h"
#include "formats/perfetto/writer.h"

namespace inferprobe::perfetto {

using profile::Allocation;
using profile::kNone;
using protozero::pbf_builder;

uint64_t Writer::DescribeAllocations(bool device) {
  uint64_t& uuid = memory_[device ? 1 : 0].uuid;
  if (uuid != 0) return uuid;
  const std::string unit = "bytes";
  const int64_t pid = profile_->tracks.empty() ? 0 : profile_->tracks.front().pid;
  uuid = DescribeNamedTrack(DescribeProcess(pid),
                            device ? "allocated device memory" : "allocated memory", &unit,
                            device ? kDeviceAllocationsMark : kAllocationsMark);
  return uuid;
}

void Writer::WriteAllocation(std::string& body, uint32_t index) {
  const Allocation& allocation = profile_->allocations[index];
  int64_t& allocated = memory_[allocation.device ? 1 : 0].allocated;
  allocated = base::SaturatingAdd(allocated, allocation.bytes);
  pbf_builder<TrackEvent> out{body};
  out.add_int64(TrackEvent::kCounterValue, allocated);
  AddInt(out, interner_.Arg(ArgName::kBytes), allocation.bytes);
  // As a slice tells its parent: by how many slices that began earlier.
  const uint64_t slice = uint64_t{allocation.slice} - first_slice_;
  if (slice >= begun_.size() || begun_[slice] == kNone) return;
  const int64_t earlier =
      int64_t{begun_before_[index - first_allocation_]} - int64_t{begun_[slice]};
  if (earlier > 0) AddInt(out, interner_.Arg(ArgName::kParent), earlier);
}

}  // namespace inferprobe::perfetto
