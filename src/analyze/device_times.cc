#include "analyze/device_times.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using profile::DelegateNote;
using profile::Profile;
using profile::Slice;
using profile::Status;

// A call of an engine: its process, the prefix of its events, the engine's id, its number.
using CallId = std::tuple<int64_t, std::string_view, std::string_view, uint64_t>;

CallId CallIdOf(const Profile& profile, const Slice& slice, const DelegateNote& note) {
  const std::string_view name = profile.Name(slice);
  return {profile.tracks[slice.track].pid, name.substr(0, name.rfind('.')), note.engine,
          *note.call};
}

struct Result {
  int64_t ns = 0;
  const DelegateNote* note = nullptr;
};

}  // namespace

DeviceTimes::DeviceTimes(const Profile& profile, profile::DelegateNotes* notes,
                         const RowBuilder& rows) {
  std::vector<std::pair<CallId, uint32_t>> calls;  // with the rows of their calls
  for (const WholeCall& whole : rows.whole_calls()) {
    const Slice& slice = profile.slices[whole.slice];
    const DelegateNote* note = notes->Of(slice);
    if (note == nullptr || !note->call) continue;
    calls.emplace_back(CallIdOf(profile, slice, *note), whole.call_row);
    if (!note->device_missing.empty()) sums_[whole.call_row].missing_why = note->device_missing;
  }
  if (calls.empty()) return;

  std::map<CallId, Result> results;
  for (const Slice& slice : profile.slices) {
    if (profile.tracks[slice.track].kind != profile::Kind::kDevice || slice.dur_ns < 0) continue;
    const DelegateNote* note = notes->Of(slice);
    if (note == nullptr || !note->call || note->kind != profile::Kind::kDevice) continue;
    if (!profile.Name(slice).ends_with(profile::kDeviceDuration)) continue;
    results.try_emplace(CallIdOf(profile, slice, *note), Result{slice.dur_ns, note});
  }
  for (const auto& [id, row] : calls) {
    Sum& sum = sums_[row];
    const auto result = results.find(id);
    if (result == results.end()) {
      ++sum.missing;
      continue;
    }
    ++sum.calls;
    sum.total_ns = base::SaturatingAdd(sum.total_ns, result->second.ns);
    if (sum.clock.empty()) sum.clock = result->second.note->clock;
  }
}

std::optional<profile::DeviceTime> DeviceTimes::Of(uint32_t call_row, uint64_t runs) const {
  const auto found = sums_.find(call_row);
  if (found == sums_.end()) return std::nullopt;
  const Sum& sum = found->second;
  profile::DeviceTime time;
  time.clock = sum.clock;
  time.calls = sum.calls;
  time.missing = sum.missing;
  if (sum.missing > 0) time.missing_why = sum.missing_why;
  if (sum.calls == 0) {
    time.mean_ns = {
        Status::kNotMeasured,
        "no result of the device came" + (sum.missing_why.empty() ? "" : ": " + sum.missing_why)};
  } else if (base::IsSaturated(sum.total_ns)) {
    time.mean_ns = SumOverflowed();
  } else {
    const double per_call_ns = static_cast<double>(sum.total_ns) / static_cast<double>(sum.calls);
    time.mean_ns =
        per_call_ns * static_cast<double>(sum.calls + sum.missing) / static_cast<double>(runs);
  }
  return time;
}

}  // namespace inferprobe::analyze
