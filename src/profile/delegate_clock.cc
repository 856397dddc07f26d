#include "profile/delegate_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/engine_track.h"
#include "profile/leave_out.h"

namespace inferprobe::profile {
namespace {

constexpr size_t kMostListed = 8;

bool Fits(std::string_view wanted, std::string_view name) {
  if (wanted == name) return true;
  const size_t number = name.find_last_of("#@");
  if (number == std::string_view::npos) return false;
  std::string_view family = name.substr(0, number);
  while (family.ends_with(' ')) family.remove_suffix(1);
  return wanted == family;
}

// nullopt: beyond every clock.
std::optional<int64_t> Nanoseconds(int64_t ticks, double ns_per_tick) {
  const double ns = static_cast<double>(ticks) * ns_per_tick;
  if (!(std::fabs(ns) <= static_cast<double>(kLatestNs))) return std::nullopt;
  return std::llround(ns);
}

// By track; nullopt: its times stay as they are.
using Ticks = std::vector<std::optional<double>>;

uint64_t CallOf(const Slice& slice) { return uint64_t{slice.track} << 32 | slice.parent; }

// The earliest report of each call, in ticks; within a call, reports may come in any order.
std::unordered_map<uint64_t, int64_t> FirstTicks(const Ticks& ns_per_tick, const Profile& profile) {
  std::unordered_map<uint64_t, int64_t> first;
  for (const Slice& slice : profile.slices) {
    if (!ns_per_tick[slice.track]) continue;
    const auto [found, is_new] = first.try_emplace(CallOf(slice), slice.start_ns);
    if (!is_new) found->second = std::min(found->second, slice.start_ns);
  }
  return first;
}

// In its call, whose first report is at `origin` ticks; nullopt: not within a clock.
std::optional<Slice> Scaled(Slice slice, int64_t origin, int64_t call_ns, double tick_ns) {
  int64_t ticks = 0;
  if (__builtin_sub_overflow(slice.start_ns, origin, &ticks)) return std::nullopt;
  const std::optional<int64_t> in_call_ns = Nanoseconds(ticks, tick_ns);
  const std::optional<int64_t> length_ns = Nanoseconds(slice.dur_ns, tick_ns);
  if (!in_call_ns || !length_ns || __builtin_add_overflow(call_ns, *in_call_ns, &slice.start_ns) ||
      slice.start_ns > kLatestNs) {
    return std::nullopt;
  }
  slice.dur_ns = *length_ns;
  return slice;
}

// Lengths times the tick, and from the call's start; what no clock holds is left out. All tracks in
// one go: there may be as many of them as slices.
void Scale(const Ticks& ns_per_tick, Profile* profile) {
  const std::unordered_map<uint64_t, int64_t> first = FirstTicks(ns_per_tick, *profile);
  std::vector<bool> beyond(profile->slices.size());
  bool any_beyond = false;
  for (size_t i = 0; i < profile->slices.size(); ++i) {
    Slice& slice = profile->slices[i];
    const std::optional<double>& tick_ns = ns_per_tick[slice.track];
    if (!tick_ns) continue;
    const int64_t call_ns =
        slice.parent < profile->slices.size() ? profile->slices[slice.parent].start_ns : 0;
    const auto scaled = Scaled(slice, first.at(CallOf(slice)), call_ns, *tick_ns);
    if (scaled) slice = *scaled;
    beyond[i] = !scaled;
    any_beyond = any_beyond || !scaled;
  }
  if (any_beyond) LeaveOut(beyond, Loss::kTimeOutOfRange, profile);
}

tl::unexpected<Error> NoSuchDelegate(const std::string& wanted, const Recording& recording) {
  std::set<std::string_view> names;
  for (const Track& track : recording.profile.tracks) {
    if (track.type == TrackType::kEngine) names.insert(DelegateOfTrack(track.name));
  }
  std::string list;
  size_t listed = 0;
  for (const std::string_view name : names) {
    if (++listed > kMostListed) break;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  if (names.size() > kMostListed) list += fmt::format(", ... {} in all", names.size());
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: no delegate of the name \"{}\" reports anything",
                               recording.source.path, wanted),
                   list.empty()
                       ? std::string("no delegate in this file reports operators of its own")
                       : "delegates that do: " + list);
}

}  // namespace

const DelegateClock* FindDelegateClock(const std::vector<DelegateClock>& clocks,
                                       std::string_view track_name) {
  for (const DelegateClock& clock : clocks) {
    if (Fits(clock.name, DelegateOfTrack(track_name))) return &clock;
  }
  return nullptr;
}

Result<void> ApplyDelegateClocks(const std::vector<DelegateClock>& clocks, Recording* recording) {
  Profile& profile = recording->profile;
  Ticks ns_per_tick(profile.tracks.size());
  for (const DelegateClock& clock : clocks) {
    bool any = false;
    for (uint32_t i = 0; i < profile.tracks.size(); ++i) {
      const Track& track = profile.tracks[i];
      const std::string_view name = DelegateOfTrack(track.name);
      if (track.type != TrackType::kEngine || !Fits(clock.name, name)) continue;
      any = true;
      if (!track.in_ticks) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("{}: the times of \"{}\" are in nanoseconds already",
                                     recording->source.path, name),
                         "give its clock with the file in which it has ticks");
      }
      if (ns_per_tick[i]) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("two clocks are given for the delegate \"{}\"", name),
                         "give each delegate one");
      }
      ns_per_tick[i] = clock.ns_per_tick;
    }
    if (!any) return NoSuchDelegate(clock.name, *recording);
  }
  if (clocks.empty()) return {};
  Scale(ns_per_tick, &profile);
  for (uint32_t i = 0; i < profile.tracks.size(); ++i) {
    if (!ns_per_tick[i]) continue;
    Track& track = profile.tracks[i];
    track.in_ticks = false;
    track.tick_ns = *ns_per_tick[i];
    track.name = fmt::format("{} (engine-reported, ticks of {:g} ns, start times not measured)",
                             DelegateOfTrack(track.name), track.tick_ns);
  }
  return {};
}

}  // namespace inferprobe::profile
