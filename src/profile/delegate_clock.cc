#include "profile/delegate_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace inferprobe::profile {
namespace {

constexpr double kLargestNs = 4e18;
constexpr size_t kMostListed = 8;

// "DELEGATE_CALL@3 (engine-reported, ...)" is the track of the delegate "DELEGATE_CALL@3".
std::string_view DelegateName(const Track& track) {
  const std::string_view name = track.name;
  return name.substr(0, name.find(" ("));
}

bool Fits(std::string_view wanted, std::string_view name) {
  if (wanted == name) return true;
  const size_t number = name.find_last_of("#@");
  if (number == std::string_view::npos) return false;
  std::string_view family = name.substr(0, number);
  while (family.ends_with(' ')) family.remove_suffix(1);
  return wanted == family;
}

// The same in every call: lengths times the tick, from the call's start.
void Scale(uint32_t track, double ns_per_tick, Profile* profile) {
  std::vector<std::pair<uint32_t, int64_t>> first;  // call -> its first tick
  for (Slice& slice : profile->slices) {
    if (slice.track != track) continue;
    if (first.empty() || first.back().first != slice.parent) {
      first.emplace_back(slice.parent, slice.start_ns);
    }
    const double offset = static_cast<double>(slice.start_ns - first.back().second) * ns_per_tick;
    const double length = static_cast<double>(slice.dur_ns) * ns_per_tick;
    const int64_t call_ns =
        slice.parent < profile->slices.size() ? profile->slices[slice.parent].start_ns : 0;
    slice.start_ns = call_ns + std::llround(std::clamp(offset, 0.0, kLargestNs));
    slice.dur_ns = std::llround(std::clamp(length, 0.0, kLargestNs));
  }
}

}  // namespace

Result<void> ApplyDelegateClocks(const std::vector<DelegateClock>& clocks, Recording* recording) {
  Profile& profile = recording->profile;
  std::vector<bool> given(profile.tracks.size());
  for (const DelegateClock& clock : clocks) {
    bool any = false;
    std::set<std::string_view> names;
    for (uint32_t i = 0; i < profile.tracks.size(); ++i) {
      Track& track = profile.tracks[i];
      if (track.type != TrackType::kEngine) continue;
      names.insert(DelegateName(track));
      if (!Fits(clock.name, DelegateName(track))) continue;
      any = true;
      if (given[i]) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("two clocks are given for the delegate \"{}\"",
                                     DelegateName(track)),
                         "give each delegate one");
      }
      given[i] = true;
      Scale(i, clock.ns_per_tick, &profile);
      track.in_ticks = false;
      track.name = fmt::format("{} (engine-reported, ticks of {:g} ns, start times not measured)",
                               DelegateName(track), clock.ns_per_tick);
    }
    if (any) continue;
    std::string list;
    size_t listed = 0;
    for (const std::string_view name : names) {
      if (++listed > kMostListed) break;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    if (names.size() > kMostListed) list += fmt::format(", ... {} in all", names.size());
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: no delegate of the name \"{}\" reports anything", recording->source.path,
                    clock.name),
        list.empty() ? std::string("no delegate in this file reports operators of its own")
                     : "delegates that do: " + list);
  }
  return {};
}

}  // namespace inferprobe::profile
