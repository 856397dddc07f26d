#include "formats/perfetto/run_plan.h"

#include <algorithm>
#include <limits>

#include "base/saturating.h"

namespace inferprobe::perfetto {

using profile::kNone;
using profile::Run;
using profile::Slice;
using profile::TrackType;

bool RunPlan::IsWritten(const Slice& slice) const {
  if (slice.track >= profile_->tracks.size()) return false;
  if (slice.dur_ns < 0) return false;
  return profile_->tracks[slice.track].in_ticks ||
         (slice.start_ns >= 0 &&
          slice.start_ns <= std::numeric_limits<int64_t>::max() - slice.dur_ns);
}

uint32_t RunPlan::EndOf(uint32_t run) const {
  const Run& it = profile_->runs[run];
  return static_cast<uint32_t>(
      std::min<uint64_t>(profile_->slices.size(), uint64_t{it.first_slice} + it.slice_count));
}

uint32_t RunPlan::OwnSlice(uint32_t run) const {
  const Run& it = profile_->runs[run];
  for (uint32_t i = it.first_slice; i < EndOf(run); ++i) {
    const Slice& slice = profile_->slices[i];
    if (slice.category != profile::Category::kRun || slice.start_ns != it.start_ns ||
        slice.dur_ns != it.dur_ns || !IsWritten(slice)) {
      continue;
    }
    const profile::Track& track = profile_->tracks[slice.track];
    if (track.type != TrackType::kEngine && !track.in_ticks) return i;
  }
  return kNone;
}

void RunPlan::Learn(uint32_t first, uint32_t count) {
  std::vector<Span> spans;
  const size_t known = runs_.size();
  bool in_order = true;
  runs_.resize(profile_->runs.size());
  for (auto run = static_cast<uint32_t>(known); run < runs_.size(); ++run) {
    const Run& it = profile_->runs[run];
    const uint32_t own = OwnSlice(run);
    if (own == kNone) {
      marks_.push_back(run);
    } else {
      own_[own] = run;
    }
    Span span{it.start_ns, base::SaturatingAdd(it.start_ns, std::max<int64_t>(it.dur_ns, 0)), run};
    uint32_t written = 0;
    for (uint32_t i = it.first_slice; i < EndOf(run); ++i) {
      const Slice& slice = profile_->slices[i];
      if (!IsWritten(slice)) continue;
      ++written;
      // What an engine reports may lie anywhere, and is found by its call.
      if (profile_->tracks[slice.track].type == TrackType::kEngine) continue;
      span.start = std::min(span.start, slice.start_ns);
      span.end = std::max(span.end, slice.start_ns + slice.dur_ns);
    }
    spans.push_back(span);
    if (it.first_slice >= first && EndOf(run) - first <= count) runs_[run].slices = written;
    if (it.first_slice >= EndOf(run)) continue;
    in_order = in_order && (entries_.empty() || entries_.back().first <= it.first_slice);
    entries_.push_back({it.first_slice, run});
  }
  if (!in_order) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.first < b.first; });
  }
  FindCrowded(std::move(spans));
}

void RunPlan::FindCrowded(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  int64_t end_ns = last_end_ns_;
  uint32_t longest = kNone;  // the run that ends there
  for (const Span& span : spans) {
    if (span.start <= end_ns) {
      runs_[span.run].crowded = true;
      if (longest != kNone) runs_[longest].crowded = true;
    }
    if (longest == kNone || span.end >= end_ns) longest = span.run;
    end_ns = std::max(end_ns, span.end);
  }
  last_end_ns_ = end_ns;
}

uint32_t RunPlan::RunOf(uint32_t slice) const {
  auto at =
      std::upper_bound(entries_.begin(), entries_.end(), slice,
                       [](uint32_t wanted, const Entry& entry) { return wanted < entry.first; });
  if (at == entries_.begin()) return kNone;
  --at;
  return slice < EndOf(at->run) ? at->run : kNone;
}

uint32_t RunPlan::OwnRunOf(uint32_t slice) const {
  const auto found = own_.find(slice);
  return found == own_.end() ? kNone : found->second;
}

std::vector<uint32_t> RunPlan::TakeMarks(uint64_t end) {
  const auto later = std::stable_partition(marks_.begin(), marks_.end(), [&](uint32_t run) {
    return profile_->runs[run].first_slice < end;
  });
  std::vector<uint32_t> taken(marks_.begin(), later);
  marks_.erase(marks_.begin(), later);
  return taken;
}

}  // namespace inferprobe::perfetto
