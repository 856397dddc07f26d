#include "analyze/sum_table.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/row_table.h"
#include "base/saturating.h"
#include "base/text.h"
#include "profile/delegate_note.h"
#include "profile/sum_note.h"

namespace inferprobe::analyze {
namespace {

using profile::Metric;
using profile::Status;
using profile::SumRow;

Metric<double> WithinError(double ns, const std::optional<int64_t>& error_ns) {
  if (!error_ns || ns > static_cast<double>(*error_ns)) return ns;
  return {Status::kBelowResolution,
          fmt::format("{}, may be off by {}: it comes from a mean in whole units",
                      base::FormatDurationNs(ns),
                      base::FormatDurationNs(static_cast<double>(*error_ns)))};
}

// Shares of the rows of one track, by what contains what.
class Track {
 public:
  void Add(const SumRow& row) {
    all_ns_ = base::SaturatingAdd(all_ns_, row.total_ns);
    const std::string_view name = row.name;
    if (!name.ends_with(profile::kWholeCall)) return;
    int64_t& whole_ns = whole_ns_[std::string(name.substr(0, name.rfind('.')))];
    whole_ns = base::SaturatingAdd(whole_ns, row.total_ns);
  }

  [[nodiscard]] Metric<double> ShareOf(const SumRow& row) const {
    const std::string_view name = row.name;
    const size_t dot = name.rfind('.');
    const auto whole = dot == std::string_view::npos
                           ? whole_ns_.end()
                           : whole_ns_.find(std::string(name.substr(0, dot)));
    if (whole == whole_ns_.end()) return Share(row.total_ns, all_ns_, "its track has no time");
    if (name.ends_with(profile::kWholeCall)) {
      return {Status::kUnavailable, "the whole call, which contains the others"};
    }
    if (name.ends_with(profile::kLayerReport) || name.ends_with(profile::kDelegateLoad)) {
      return {Status::kUnavailable, "it is no part of the whole call"};
    }
    return Share(row.total_ns, whole->second, "the whole call has no time");
  }

 private:
  static Metric<double> Share(int64_t ns, int64_t all_ns, const char* no_time) {
    if (base::IsSaturated(all_ns)) return SumOverflowed();
    if (all_ns == 0) return {Status::kTooFewSamples, no_time};
    return static_cast<double>(ns) / static_cast<double>(all_ns);
  }

  int64_t all_ns_ = 0;
  std::unordered_map<std::string, int64_t> whole_ns_;  // by prefix of the delegate's events
};

}  // namespace

std::vector<SumRow> SummarizeSums(const profile::Profile& profile) {
  std::vector<SumRow> rows;
  std::vector<uint16_t> track_of;
  std::vector<Track> tracks(profile.tracks.size());
  for (const profile::Slice& slice : profile.slices) {
    const std::optional<profile::SumNote> sum = profile::SumNoteOf(profile, slice);
    if (!sum) continue;
    SumRow& row = rows.emplace_back();
    track_of.push_back(slice.track);
    row.track = profile.tracks[slice.track].name;
    row.name = profile.Name(slice);
    row.kind = profile.tracks[slice.track].kind;
    row.calls = sum->calls;
    row.total_ns = sum->total_ns;
    row.error_ns = sum->error_ns;
    if (sum->calls != 0) {
      row.mean_ns = WithinError(
          static_cast<double>(sum->total_ns) / static_cast<double>(sum->calls), sum->error_ns);
    } else {
      row.mean_ns = {Status::kTooFewSamples, "no samples"};
    }
    if (sum->median_ns) {
      row.p50_ns = WithinError(*sum->median_ns, sum->error_ns);
    } else {
      row.p50_ns = {Status::kUnavailable, "the file does not tell"};
    }
    tracks[slice.track].Add(row);
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i].share = tracks[track_of[i]].ShareOf(rows[i]);
  return rows;
}

}  // namespace inferprobe::analyze
