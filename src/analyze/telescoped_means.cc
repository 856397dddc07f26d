#include "analyze/telescoped_means.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/saturating.h"

namespace inferprobe::analyze {

using profile::kNone;
using profile::Profile;
using profile::Run;

TelescopedMeans::TelescopedMeans(const Profile& profile, profile::DelegateNotes* notes,
                                 const RowBuilder& rows, const std::vector<uint32_t>& counted)
    : profile_(profile), notes_(*notes), all_(profile, notes) {
  bool any = false;
  for (uint32_t i = 0; i < profile.metadata.size() && !any; ++i) {
    const profile::DelegateNote* note = notes_.At(i);
    any = note != nullptr && note->of_running_mean;
  }
  if (!any) return;
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  std::map<uint16_t, Range> ranges;  // by process
  for (const uint32_t run : counted) {
    const auto [at, is_new] = ranges.try_emplace(profile.runs[run].process, Range{run, run});
    if (!is_new) at->second.last = run;
  }
  for (uint32_t i = 0; i < profile.runs.size(); ++i) {
    const Run& run = profile.runs[i];
    const auto range = ranges.find(run.process);
    if (range == ranges.end() || i < range->second.first || i > range->second.last) continue;
    if (run.incomplete) {
      EndSeries(run.process);
    } else {
      AddRun(run);
    }
  }
  for (const auto& [process, range] : ranges) EndSeries(process);
  MapTo(rows.rows());
}

void TelescopedMeans::AddRun(const Run& run) {
  const size_t before = all_.readings().size();
  all_.AddRun(run);
  for (size_t i = before; i < all_.readings().size(); ++i) {
    const LayerReading& reading = all_.readings()[i];
    const profile::DelegateNote* note = notes_.Of(profile_.slices[reading.slice]);
    if (note == nullptr) continue;
    const RowKey& call = all_.rows().at(reading.call_row).key;
    const std::string_view name = profile_.Name(profile_.slices[reading.slice]);
    AddReading(reading,
               {run.process, std::string(name.substr(0, name.rfind('.'))) + ' ' + note->engine,
                note->engine.empty() ? call.instruction : -1});
  }
}

void TelescopedMeans::AddReading(const LayerReading& reading, const Engine& engine) {
  const profile::DelegateNote& note = *notes_.Of(profile_.slices[reading.slice]);
  if (note.calls == 0 || note.unit_ns == 0) return;
  Last& last = last_[engine];
  const uint64_t covered = std::min(note.covered, note.calls);
  // The values of calls in a gap are in a reading that is not here.
  const bool follows = last.row != kNone && covered != 0 && note.calls - covered == last.calls;
  if (!follows || last.row != reading.call_row) {
    if (last.row != kNone) sums_[last.row].units += static_cast<double>(last.calls);
    last.row = kNone;
    if (covered == 0) return;  // the engine began anew: here are no values
    sums_[reading.call_row].units += static_cast<double>(note.calls);
  }
  Sum& sum = sums_[reading.call_row];
  sum.covered += covered;
  sum.unit_ns = std::max(sum.unit_ns, note.unit_ns);
  sum.last_calls = std::max(sum.last_calls, note.calls);
  last = {reading.call_row, note.calls};
}

// Behind this, the next reading's value is no difference to the last one that is here.
void TelescopedMeans::EndSeries(uint16_t process) {
  const auto first = last_.lower_bound({process, "", std::numeric_limits<int32_t>::min()});
  auto end = first;
  for (; end != last_.end() && std::get<0>(end->first) == process; ++end) {
    if (end->second.row == kNone) continue;
    sums_[end->second.row].units += static_cast<double>(end->second.calls);
  }
  last_.erase(first, end);
}

// Rows are found by what they are; parents stand before their children in either table.
void TelescopedMeans::MapTo(const RowTable& rows) {
  std::vector<uint32_t> there(all_.rows().size(), kNone);
  for (uint32_t i = 0; i < there.size(); ++i) {
    RowKey key = all_.rows().at(i).key;
    if (key.parent != kNone) key.parent = there[key.parent];
    const bool lost = key.parent == kNone && all_.rows().at(i).key.parent != kNone;
    if (!lost) there[i] = rows.FindExisting(key);
  }
  for (const auto& [row, sum] : sums_) {
    if (there[row] == kNone || sum.covered == 0) continue;
    const auto unit_ns = static_cast<double>(sum.unit_ns);
    readings_[there[row]] = {sum.covered, unit_ns * sum.units / static_cast<double>(sum.covered),
                             unit_ns * static_cast<double>(sum.last_calls)};
  }
  for (uint32_t i = 0; i < there.size(); ++i) {
    const Row& layer = all_.rows().at(i);
    if (there[i] == kNone || !layer.key.running_mean || base::IsSaturated(layer.total_ns)) continue;
    const auto sum = sums_.find(layer.key.parent);
    if (sum == sums_.end() || sum->second.covered == 0) continue;
    per_call_ns_[there[i]] =
        static_cast<double>(layer.total_ns) / static_cast<double>(sum->second.covered);
  }
}

std::optional<TelescopedMeans::Readings> TelescopedMeans::ReadingsOf(uint32_t call_row) const {
  const auto found = readings_.find(call_row);
  return found == readings_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> TelescopedMeans::PerCallNs(uint32_t layer_row) const {
  const auto found = per_call_ns_.find(layer_row);
  return found == per_call_ns_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace inferprobe::analyze
