#include "profile/delegate_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

namespace inferprobe::profile {
namespace {

constexpr double kLargestNs = 4e18;
constexpr int64_t kLatestNs = int64_t{1} << 61;  // so that start and length can be added
constexpr size_t kMostListed = 8;

// "DELEGATE_CALL@3 (engine-reported, ...)" is the track of the delegate "DELEGATE_CALL@3".
std::string_view DelegateName(std::string_view track_name) {
  return track_name.substr(0, track_name.rfind(" (engine-reported"));
}

bool Fits(std::string_view wanted, std::string_view name) {
  if (wanted == name) return true;
  const size_t number = name.find_last_of("#@");
  if (number == std::string_view::npos) return false;
  std::string_view family = name.substr(0, number);
  while (family.ends_with(' ')) family.remove_suffix(1);
  return wanted == family;
}

int64_t Nanoseconds(int64_t ticks, double ns_per_tick) {
  return std::llround(
      std::clamp(static_cast<double>(ticks) * ns_per_tick, -kLargestNs, kLargestNs));
}

// The earliest report of each call, in ticks; within a call, reports may come in any order.
std::unordered_map<uint32_t, int64_t> FirstTicks(uint32_t track, const Profile& profile) {
  std::unordered_map<uint32_t, int64_t> first;
  for (const Slice& slice : profile.slices) {
    if (slice.track != track) continue;
    const auto [found, is_new] = first.try_emplace(slice.parent, slice.start_ns);
    if (!is_new) found->second = std::min(found->second, slice.start_ns);
  }
  return first;
}

// Lengths times the tick, and from the call's start.
void Scale(uint32_t track, double ns_per_tick, Profile* profile) {
  const std::unordered_map<uint32_t, int64_t> first = FirstTicks(track, *profile);
  for (Slice& slice : profile->slices) {
    if (slice.track != track) continue;
    const int64_t origin = first.at(slice.parent);
    const int64_t call_ns =
        slice.parent < profile->slices.size() ? profile->slices[slice.parent].start_ns : 0;
    int64_t ticks = 0;
    int64_t start_ns = 0;
    if (__builtin_sub_overflow(slice.start_ns, origin, &ticks) ||
        __builtin_add_overflow(call_ns, Nanoseconds(ticks, ns_per_tick), &start_ns) ||
        start_ns > kLatestNs) {
      profile->losses.Add(Loss::kTimeOutOfRange);
      start_ns = call_ns;
    }
    const int64_t length_ns = Nanoseconds(slice.dur_ns, ns_per_tick);
    if (length_ns > kLatestNs) profile->losses.Add(Loss::kTimeOutOfRange);
    slice.start_ns = start_ns;
    slice.dur_ns = std::min(length_ns, kLatestNs);
  }
}

}  // namespace

const DelegateClock* FindDelegateClock(const std::vector<DelegateClock>& clocks,
                                       std::string_view track_name) {
  for (const DelegateClock& clock : clocks) {
    if (Fits(clock.name, DelegateName(track_name))) return &clock;
  }
  return nullptr;
}

Result<void> ApplyDelegateClocks(const std::vector<DelegateClock>& clocks, Recording* recording) {
  Profile& profile = recording->profile;
  std::vector<bool> given(profile.tracks.size());
  for (const DelegateClock& clock : clocks) {
    bool any = false;
    std::set<std::string_view> names;
    for (uint32_t i = 0; i < profile.tracks.size(); ++i) {
      Track& track = profile.tracks[i];
      if (track.type != TrackType::kEngine) continue;
      names.insert(DelegateName(track.name));
      if (!Fits(clock.name, DelegateName(track.name))) continue;
      any = true;
      if (!track.in_ticks && !given[i]) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("{}: the times of \"{}\" are in nanoseconds already",
                                     recording->source.path, DelegateName(track.name)),
                         "give its clock with the file in which it has ticks");
      }
      if (given[i]) {
        return MakeError(
            ErrorCode::kInvalidArgument,
            fmt::format("two clocks are given for the delegate \"{}\"", DelegateName(track.name)),
            "give each delegate one");
      }
      given[i] = true;
      Scale(i, clock.ns_per_tick, &profile);
      track.in_ticks = false;
      track.tick_ns = clock.ns_per_tick;
      track.name = fmt::format("{} (engine-reported, ticks of {:g} ns, start times not measured)",
                               DelegateName(track.name), clock.ns_per_tick);
    }
    if (any) continue;
    std::string list;
    size_t listed = 0;
    for (const std::string_view name : names) {
      if (++listed > kMostListed) break;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    if (names.size() > kMostListed) list += fmt::format(", ... {} in all", names.size());
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: no delegate of the name \"{}\" reports anything",
                                 recording->source.path, clock.name),
                     list.empty()
                         ? std::string("no delegate in this file reports operators of its own")
                         : "delegates that do: " + list);
  }
  return {};
}

}  // namespace inferprobe::profile
