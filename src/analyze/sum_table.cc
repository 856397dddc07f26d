#include "analyze/sum_table.h"

#include <optional>
#include <utility>

#include "analyze/row_table.h"
#include "base/saturating.h"
#include "profile/sum_note.h"

namespace inferprobe::analyze {

using profile::Status;
using profile::SumRow;

std::vector<SumRow> SummarizeSums(const profile::Profile& profile) {
  std::vector<SumRow> rows;
  std::vector<uint16_t> track_of;
  std::vector<int64_t> track_ns(profile.tracks.size());
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
    if (sum->calls != 0) {
      row.mean_ns = static_cast<double>(sum->total_ns) / static_cast<double>(sum->calls);
    } else {
      row.mean_ns = {Status::kTooFewSamples, "no samples"};
    }
    if (sum->median_ns) {
      row.p50_ns = *sum->median_ns;
    } else {
      row.p50_ns = {Status::kUnavailable, "the file does not tell"};
    }
    track_ns[slice.track] = base::SaturatingAdd(track_ns[slice.track], sum->total_ns);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t all_ns = track_ns[track_of[i]];
    if (base::IsSaturated(all_ns)) {
      rows[i].share = SumOverflowed();
    } else if (all_ns == 0) {
      rows[i].share = {Status::kTooFewSamples, "its track has no time"};
    } else {
      rows[i].share = static_cast<double>(rows[i].total_ns) / static_cast<double>(all_ns);
    }
  }
  return rows;
}

}  // namespace inferprobe::analyze
