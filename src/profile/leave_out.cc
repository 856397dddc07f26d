#include "profile/leave_out.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace inferprobe::profile {
namespace {

// Halves the way that it goes, so that a long chain of slices that go is gone through about once;
// a cycle, which only a damaged profile has, becomes a slice that is its own parent.
uint32_t NearestKept(uint32_t at, const std::vector<bool>& which, std::vector<Slice>& slices) {
  while (at < slices.size() && which[at]) {
    uint32_t& parent = slices[at].parent;
    if (parent < slices.size() && which[parent]) parent = slices[parent].parent;
    if (parent == at) parent = kNone;
    at = parent;
  }
  return at < slices.size() ? at : kNone;
}

}  // namespace

void LeaveOut(const std::vector<bool>& which, Loss why, Profile* profile) {
  std::vector<Slice>& slices = profile->slices;
  // Where each slice will be: how many before it stay.
  std::vector<uint32_t> place(slices.size() + 1);
  for (size_t i = 0; i < slices.size(); ++i) place[i + 1] = place[i] + (which[i] ? 0 : 1);
  profile->losses.Add(why, slices.size() - place.back());

  for (size_t i = 0; i < slices.size(); ++i) {
    if (!which[i]) slices[i].parent = NearestKept(slices[i].parent, which, slices);
  }
  for (Allocation& allocation : profile->allocations) {
    allocation.slice = NearestKept(allocation.slice, which, slices);
    if (allocation.slice != kNone) allocation.slice = place[allocation.slice];
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    if (which[i]) continue;
    const uint32_t parent = slices[i].parent;
    slices[i].parent = parent == kNone ? kNone : place[parent];
    slices[place[i]] = slices[i];
  }
  slices.resize(place.back());

  for (Run& run : profile->runs) {
    const size_t first = std::min<size_t>(run.first_slice, place.size() - 1);
    const size_t end = std::min(first + run.slice_count, place.size() - 1);
    const uint32_t stay = place[end] - place[first];
    if (stay < end - first && !run.incomplete) {
      run.incomplete = true;
      run.why = why;
    }
    run.first_slice = place[first];
    run.slice_count = stay;
  }
}

}  // namespace inferprobe::profile
