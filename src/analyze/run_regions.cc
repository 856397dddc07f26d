#include "analyze/run_regions.h"

#include <algorithm>
#include <numeric>

#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::kNone;
using profile::OpRow;
using profile::Profile;
using profile::RowType;
using profile::Run;
using profile::Slice;

// A region's slice, its operator's kernel, that operator: more than this is a damaged profile.
constexpr int kMostSteps = 16;

int64_t EndOf(int64_t start_ns, int64_t dur_ns) {
  return base::SaturatingAdd(start_ns, std::max<int64_t>(dur_ns, 0));
}

bool IsCall(RowType type) {
  return type == RowType::kOperatorCall || type == RowType::kDelegateCall;
}

}  // namespace

RunRegions::RunRegions(const Profile& profile, const std::vector<OpRow>& ops) : profile_(profile) {
  for (const OpRow& op : ops) {
    if (IsCall(op.type) && op.instruction) {
      op_of_instruction_.emplace(*op.instruction, op.id);
    } else if (op.type == RowType::kScope || op.type == RowType::kOther) {
      op_of_name_.emplace(op.name, op.id);
    }
  }
  FindRuns();
  std::vector<uint32_t> slice_of(profile.regions.size(), kNone);
  std::vector<uint32_t> region_slices;
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    const Slice& slice = profile.slices[i];
    if (slice.category != Category::kRegion || slice.args >= profile.args.size()) continue;
    const uint32_t region = profile.args[slice.args].region;
    if (region >= slice_of.size() || slice_of[region] != kNone) continue;
    slice_of[region] = i;
    region_slices.push_back(i);
  }
  FindParts(slice_of);
  for (const uint32_t i : region_slices) {
    const uint32_t at = RunOf(i);
    if (at == kNone) continue;
    FoundRegion found;
    found.slice = i;
    found.region = profile.args[profile.slices[i].args].region;
    found.first_part = first_part_[found.region];
    found.part_count = part_count_[found.region];
    found.op = OperatorOf(profile.slices[i]);
    runs_[at].regions.push_back(found);
  }
  for (OfRun& run : runs_) {
    std::stable_sort(run.regions.begin(), run.regions.end(),
                     [&](const FoundRegion& a, const FoundRegion& b) {
                       return profile_.slices[a.slice].start_ns < profile_.slices[b.slice].start_ns;
                     });
    FindOuter(&run);
  }
}

void RunRegions::FindRuns() {
  for (uint32_t i = 0; i < profile_.runs.size(); ++i) {
    const Run& run = profile_.runs[i];
    if (profile::GivesRows(run.mode) && !run.incomplete) runs_.push_back({i, {}});
  }
  by_slice_.resize(runs_.size());
  std::iota(by_slice_.begin(), by_slice_.end(), 0U);
  by_time_ = by_slice_;
  const auto run = [&](uint32_t at) -> const Run& { return profile_.runs[runs_[at].run]; };
  std::stable_sort(by_slice_.begin(), by_slice_.end(),
                   [&](uint32_t a, uint32_t b) { return run(a).first_slice < run(b).first_slice; });
  std::stable_sort(by_time_.begin(), by_time_.end(),
                   [&](uint32_t a, uint32_t b) { return run(a).start_ns < run(b).start_ns; });
}

void RunRegions::FindParts(const std::vector<uint32_t>& slice_of) {
  first_part_.assign(slice_of.size() + 1, 0);
  part_count_.assign(slice_of.size(), 0);
  std::vector<std::pair<uint32_t, uint32_t>> found;  // region, slice
  for (uint32_t i = 0; i < profile_.slices.size(); ++i) {
    const Slice& slice = profile_.slices[i];
    if (slice.category != Category::kRegionPart || slice.args >= profile_.args.size()) continue;
    const uint32_t part = profile_.args[slice.args].region_part;
    if (part >= profile_.region_parts.size()) continue;
    const uint32_t region = profile_.region_parts[part].region;
    if (region < slice_of.size() && slice_of[region] != kNone) found.emplace_back(region, i);
  }
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return profile_.slices[a.second].start_ns < profile_.slices[b.second].start_ns;
  });
  for (const auto& [region, slice] : found) {
    if (part_count_[region]++ == 0) first_part_[region] = static_cast<uint32_t>(parts_.size());
    parts_.push_back(slice);
  }
}

// A recording may have a run's regions behind its slices: then the time tells.
uint32_t RunRegions::RunOf(uint32_t slice) const {
  const auto run = [&](uint32_t at) -> const Run& { return profile_.runs[runs_[at].run]; };
  const auto behind_slice =
      std::partition_point(by_slice_.begin(), by_slice_.end(),
                           [&](uint32_t at) { return run(at).first_slice <= slice; });
  if (behind_slice != by_slice_.begin()) {
    const uint32_t at = *(behind_slice - 1);
    if (slice - run(at).first_slice < run(at).slice_count) return at;
  }
  const int64_t start_ns = profile_.slices[slice].start_ns;
  const auto behind_time = std::partition_point(
      by_time_.begin(), by_time_.end(), [&](uint32_t at) { return run(at).start_ns <= start_ns; });
  if (behind_time == by_time_.begin()) return kNone;
  const uint32_t at = *(behind_time - 1);
  return start_ns <= EndOf(run(at).start_ns, run(at).dur_ns) ? at : kNone;
}

uint32_t RunRegions::OperatorOf(const Slice& slice) const {
  uint32_t named = kNone;
  const Slice* at = &slice;
  for (int step = 0; step < kMostSteps; ++step) {
    if (at->args < profile_.args.size()) {
      const auto found = op_of_instruction_.find(profile_.args[at->args].instruction);
      if (found != op_of_instruction_.end()) return found->second;
    }
    if (named == kNone && step > 0) {
      const auto found = op_of_name_.find(std::string(profile_.Name(*at)));
      if (found != op_of_name_.end()) named = found->second;
    }
    if (at->parent >= profile_.slices.size()) break;
    at = &profile_.slices[at->parent];
  }
  return named;
}

// Nested ones are of their outermost region's operator: a worker thread does not know it.
void RunRegions::FindOuter(OfRun* run) const {
  std::unordered_map<uint64_t, uint32_t> by_id;
  for (uint32_t i = 0; i < run->regions.size(); ++i) {
    by_id.emplace(Facts(run->regions[i]).id, i);
  }
  for (uint32_t i = 0; i < run->regions.size(); ++i) {
    FoundRegion& region = run->regions[i];
    if (!IsNested(Facts(region))) continue;
    uint32_t at = i;
    for (int step = 0; step < kMostSteps && IsNested(Facts(run->regions[at])); ++step) {
      const auto parent = by_id.find(Facts(run->regions[at]).parent);
      if (parent == by_id.end()) break;
      at = parent->second;
    }
    if (IsNested(Facts(run->regions[at]))) continue;
    region.outer = at;
    region.op = run->regions[at].op;
  }
}

const profile::RegionPart& RunRegions::PartFacts(uint32_t part_slice) const {
  return profile_.region_parts[profile_.args[profile_.slices[part_slice].args].region_part];
}

double RunRegions::WallNs(const FoundRegion& region) const {
  return static_cast<double>(std::max<int64_t>(profile_.slices[region.slice].dur_ns, 0));
}

BusyInterval RunRegions::Busy(const FoundRegion& region, uint32_t part_slice) const {
  const Slice& whole = profile_.slices[region.slice];
  const Slice& part = profile_.slices[part_slice];
  const int64_t low_ns = whole.start_ns;
  const int64_t high_ns = EndOf(whole.start_ns, whole.dur_ns);
  return {std::clamp(part.start_ns, low_ns, high_ns),
          std::clamp(EndOf(part.start_ns, part.dur_ns), low_ns, high_ns)};
}

}  // namespace inferprobe::analyze
