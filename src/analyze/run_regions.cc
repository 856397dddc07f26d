#include "analyze/run_regions.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

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
constexpr int64_t kNoInstruction = -1;
constexpr std::string_view kKernelPrefix = "native_call_";

int64_t EndOf(int64_t start_ns, int64_t dur_ns) {
  return base::SaturatingAdd(start_ns, std::max<int64_t>(dur_ns, 0));
}

bool IsCall(RowType type) {
  return type == RowType::kOperatorCall || type == RowType::kDelegateCall;
}

}  // namespace

RunRegions::RunRegions(const Profile& profile, const std::vector<OpRow>& ops) : profile_(profile) {
  for (const OpRow& op : ops) {
    if (IsCall(op.type)) {
      calls_at_[op.instruction ? *op.instruction : kNoInstruction].push_back(&op);
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
  uint64_t steps = profile_.slices.size();  // in a damaged profile runs may overlap
  for (uint32_t i = 0; i < profile_.runs.size(); ++i) {
    const Run& run = profile_.runs[i];
    const bool counts = profile::GivesRows(run.mode) && !run.incomplete;
    const uint32_t at = counts ? static_cast<uint32_t>(runs_.size()) : kNone;
    by_thread_.push_back({kNone, run.start_ns, at});
    const uint32_t thread = ThreadOf(run, &steps);
    if (thread != kNone) by_thread_.push_back({thread, run.start_ns, at});
    if (counts) runs_.push_back({i, {}});
  }
  by_slice_.resize(runs_.size());
  std::iota(by_slice_.begin(), by_slice_.end(), 0U);
  const auto run = [&](uint32_t at) -> const Run& { return profile_.runs[runs_[at].run]; };
  std::stable_sort(by_slice_.begin(), by_slice_.end(),
                   [&](uint32_t a, uint32_t b) { return run(a).first_slice < run(b).first_slice; });
  std::stable_sort(by_thread_.begin(), by_thread_.end(),
                   [](const RunOfThread& a, const RunOfThread& b) {
                     return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
                   });
}

// A trace has a run's own slice first, a recording last: that of the method alone, where nobody
// timed the run from outside.
uint32_t RunRegions::ThreadOf(const Run& run, uint64_t* steps) const {
  const uint64_t first = run.first_slice;
  const uint64_t end = first + run.slice_count;
  if (first == end || end > profile_.slices.size()) return kNone;
  if (profile_.slices[first].category == Category::kRun) return profile_.slices[first].track;
  for (uint64_t at = end; at > first && *steps > 0; --at, --*steps) {
    const Slice& slice = profile_.slices[at - 1];
    if (slice.category == Category::kRun || slice.category == Category::kMethod) return slice.track;
  }
  return kNone;
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

// A recording may have a run's regions behind its slices: then the run of its thread at that time.
// Where nothing is known to have run on its thread, the time alone tells.
uint32_t RunRegions::RunOf(uint32_t slice) const {
  const auto run = [&](uint32_t at) -> const Run& { return profile_.runs[runs_[at].run]; };
  const auto behind_slice =
      std::partition_point(by_slice_.begin(), by_slice_.end(),
                           [&](uint32_t at) { return run(at).first_slice <= slice; });
  if (behind_slice != by_slice_.begin()) {
    const uint32_t at = *(behind_slice - 1);
    if (slice - run(at).first_slice < run(at).slice_count) return at;
  }
  const Slice& region = profile_.slices[slice];
  uint32_t thread =
      region.track < profile_.tracks.size() ? profile_.tracks[region.track].parent : kNone;
  const auto first =
      std::partition_point(by_thread_.begin(), by_thread_.end(),
                           [&](const RunOfThread& one) { return one.thread < thread; });
  if (first == by_thread_.end() || first->thread != thread) thread = kNone;
  const auto behind =
      std::partition_point(by_thread_.begin(), by_thread_.end(), [&](const RunOfThread& one) {
        return std::tie(one.thread, one.start_ns) <= std::tie(thread, region.start_ns);
      });
  if (behind == by_thread_.begin() || (behind - 1)->thread != thread) return kNone;
  const uint32_t at = (behind - 1)->at;
  if (at == kNone) return kNone;
  return region.start_ns <= EndOf(run(at).start_ns, run(at).dur_ns) ? at : kNone;
}

// By the slices around it: an instruction alone may be that of another program.
uint32_t RunRegions::OperatorOf(const Slice& slice) const {
  uint32_t named = kNone;
  const Slice* inside = &slice;
  for (int step = 0; step < kMostSteps && inside->parent < profile_.slices.size(); ++step) {
    const Slice& at = profile_.slices[inside->parent];
    if (at.category == Category::kOperatorCall || at.category == Category::kDelegateCall) {
      const uint32_t found = RowOfCall(at, *inside);
      if (found != kNone) return found;
    }
    if (named == kNone) {
      const auto found = op_of_name_.find(std::string(profile_.Name(at)));
      if (found != op_of_name_.end()) named = found->second;
    }
    inside = &at;
  }
  if (named != kNone || slice.args >= profile_.args.size()) return named;
  const int32_t instruction = profile_.args[slice.args].instruction;
  const auto found = calls_at_.find(instruction);
  const bool one = instruction >= 0 && found != calls_at_.end() && found->second.size() == 1;
  return one ? found->second.front()->id : kNone;
}

// `inside`: what of the call leads to the region. A row has the name of its call, or of the kernel
// in it; where the program is known, its own, and then there is one program.
uint32_t RunRegions::RowOfCall(const Slice& call, const Slice& inside) const {
  const bool known = call.args < profile_.args.size();
  const auto found = calls_at_.find(known ? profile_.args[call.args].instruction : kNoInstruction);
  if (found == calls_at_.end()) return kNone;
  const RowType type =
      call.category == Category::kOperatorCall ? RowType::kOperatorCall : RowType::kDelegateCall;
  const std::string_view name = profile_.Name(call);
  const std::string_view inner = profile_.Name(inside);
  uint32_t first = kNone;
  for (const OpRow* op : found->second) {
    if (op->type != type) continue;
    const bool of_kernel = inside.category == Category::kKernel && inner.ends_with(op->name) &&
                           inner.size() == kKernelPrefix.size() + op->name.size();
    if (of_kernel || op->name == name) return op->id;
    if (first == kNone) first = op->id;
  }
  return first;
}

// Nested ones are of their outermost region's operator: a worker thread does not know it. What says
// that it is inside itself is damaged, and in no other.
void RunRegions::FindOuter(OfRun* run) const {
  const auto count = static_cast<uint32_t>(run->regions.size());
  std::unordered_map<uint64_t, uint32_t> by_id;
  for (uint32_t i = 0; i < count; ++i) by_id.emplace(Facts(run->regions[i]).id, i);
  enum class Seen : uint8_t { kNot, kOnPath, kDone };
  std::vector<Seen> seen(count, Seen::kNot);
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < count; ++i) {
    path.clear();
    uint32_t outermost = kNone;
    for (uint32_t at = i; outermost == kNone;) {
      if (seen[at] == Seen::kOnPath) break;
      if (seen[at] == Seen::kDone) {
        outermost = run->regions[at].outer == kNone ? at : run->regions[at].outer;
        break;
      }
      seen[at] = Seen::kOnPath;
      path.push_back(at);
      const auto parent = by_id.find(Facts(run->regions[at]).parent);
      if (Facts(run->regions[at]).parent == 0 || parent == by_id.end()) {
        outermost = at;
      } else {
        at = parent->second;
      }
    }
    for (const uint32_t at : path) {
      seen[at] = Seen::kDone;
      FoundRegion& region = run->regions[at];
      if (outermost != kNone && outermost != at) region.outer = outermost;
    }
  }
  for (FoundRegion& region : run->regions) {
    region.nested = region.outer != kNone || Facts(region).nested_inline;
    if (region.outer != kNone) region.op = run->regions[region.outer].op;
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
          std::clamp(EndOf(part.start_ns, part.dur_ns), low_ns, high_ns),
          part.track < profile_.tracks.size() ? profile_.tracks[part.track].tid : 0};
}

}  // namespace inferprobe::analyze
