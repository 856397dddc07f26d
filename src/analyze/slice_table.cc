#include "analyze/slice_table.h"

#include <algorithm>

#include "analyze/resolution.h"
#include "analyze/row_table.h"
#include "base/saturating.h"
#include "profile/sum_note.h"

namespace inferprobe::analyze {
namespace {

using profile::kNone;
using profile::Profile;
using profile::Slice;
using profile::SliceRow;

class Summary {
 public:
  Summary(const Profile& profile, const SliceTableOptions& options)
      : profile_(profile), options_(options) {}

  // After Take().
  [[nodiscard]] uint64_t exceeded() const { return exceeded_; }

  std::vector<SliceRow> Take() {
    FindRows();
    AddTimes();
    std::vector<SliceRow> rows;
    std::vector<uint32_t> id_of(table_.size());
    for (const uint32_t index : table_.InProgramOrder()) {
      id_of[index] = static_cast<uint32_t>(rows.size());
      rows.push_back(Convert(index, id_of, rows));
    }
    return rows;
  }

 private:
  struct Extremes {
    int64_t least_ns = 0;
    int64_t most_ns = 0;
  };

  [[nodiscard]] bool IsCounted(uint32_t slice) const {
    const uint16_t track = profile_.slices[slice].track;
    return track < profile_.tracks.size() && !profile_.tracks[track].in_ticks &&
           !profile::SumNoteOf(profile_, profile_.slices[slice]);
  }

  [[nodiscard]] bool IsHidden(uint32_t slice) const {
    using profile::Category;
    const Category category = profile_.slices[slice].category;
    return options_.without_modules &&
           (category == Category::kModuleCall || category == Category::kOperator ||
            category == Category::kDeviceWork);
  }

  // What encloses a slice on its own track.
  [[nodiscard]] uint32_t ParentOf(uint32_t slice) const {
    const uint32_t parent = profile_.slices[slice].parent;
    const bool same = parent < profile_.slices.size() && parent != slice &&
                      profile_.slices[parent].track == profile_.slices[slice].track;
    return same ? parent : kNone;
  }

  // Without recursion: slices may nest deeply, and in a broken recording in a circle.
  void FindRows() {
    const auto count = static_cast<uint32_t>(profile_.slices.size());
    row_.assign(count, kNone);
    around_.assign(count, kNone);
    std::vector<uint32_t> chain;
    for (uint32_t i = 0; i < count; ++i) {
      if (!IsCounted(i) || IsHidden(i)) continue;
      chain.clear();
      for (uint32_t k = i; k != kNone && row_[k] == kNone && chain.size() <= count;
           k = ParentOf(k)) {
        chain.push_back(k);
      }
      for (; !chain.empty(); chain.pop_back()) {
        const uint32_t k = chain.back();
        if (row_[k] != kNone) continue;
        const Slice& slice = profile_.slices[k];
        const uint32_t parent = ParentOf(k);
        around_[k] = parent == kNone || !IsHidden(parent) ? parent : around_[parent];
        if (IsHidden(k)) {
          row_[k] = kHidden;
          continue;
        }
        RowKey key;
        key.parent = around_[k] == kNone ? kNone : row_[around_[k]];
        key.name = slice.name;
        key.track = slice.track;
        key.kind = profile_.tracks[slice.track].kind;
        const bool outermost = key.parent == kNone;
        row_[k] = table_.Find(
            key, outermost ? int64_t{slice.track} << 32 | static_cast<int64_t>(table_.size())
                           : slice.start_ns);
      }
    }
  }

  void AddTimes() {
    std::vector<int64_t> inside(profile_.slices.size());
    for (uint32_t i = 0; i < inside.size(); ++i) {
      if (row_[i] >= kHidden) continue;
      if (const uint32_t parent = around_[i]; parent != kNone) {
        inside[parent] = base::SaturatingAdd(inside[parent], profile_.slices[i].dur_ns);
      }
    }
    extremes_.resize(table_.size());
    for (uint32_t i = 0; i < inside.size(); ++i) {
      if (row_[i] >= kHidden) continue;
      const int64_t dur_ns = profile_.slices[i].dur_ns;
      Row& row = table_.at(row_[i]);
      Extremes& extremes = extremes_[row_[i]];
      extremes.least_ns = row.calls == 0 ? dur_ns : std::min(extremes.least_ns, dur_ns);
      extremes.most_ns = std::max(extremes.most_ns, dur_ns);
      row.total_ns = base::SaturatingAdd(row.total_ns, dur_ns);
      row.self_ns = base::SaturatingAdd(row.self_ns, dur_ns - inside[i]);
      if (inside[i] > std::max<int64_t>(dur_ns, 0)) ++exceeded_;
      ++row.calls;
    }
  }

  SliceRow Convert(uint32_t index, const std::vector<uint32_t>& id_of,
                   const std::vector<SliceRow>& rows) const {
    const Row& row = table_.at(index);
    SliceRow out;
    out.id = static_cast<uint32_t>(rows.size());
    if (row.key.parent != kNone) {
      out.parent = id_of[row.key.parent];
      out.depth = rows[out.parent].depth + 1;
    }
    out.track = profile_.tracks[row.key.track].name;
    out.name = profile_.strings.Get(row.key.name);
    out.kind = row.key.kind;
    out.calls = row.calls;
    out.total_ns = row.total_ns;
    out.self_ns = row.self_ns;
    out.min_ns = extremes_[index].least_ns;
    out.max_ns = extremes_[index].most_ns;
    const double mean_ns = static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    const bool below =
        out.kind == profile::Kind::kHostWall && IsBelow(mean_ns, profile_.clock.tick_ns);
    if (base::IsSaturated(row.total_ns)) {
      out.mean_ns = SumOverflowed();
    } else if (below) {
      out.mean_ns = BelowClock(mean_ns, profile_.clock.tick_ns);
    } else {
      out.mean_ns = mean_ns;
    }
    return out;
  }

  static constexpr uint32_t kHidden = kNone - 1;

  const Profile& profile_;
  const SliceTableOptions& options_;
  RowTable table_;
  std::vector<uint32_t> row_;     // by slice
  std::vector<uint32_t> around_;  // by slice: the innermost one around it that is in a row
  std::vector<Extremes> extremes_;
  uint64_t exceeded_ = 0;  // slices that are shorter than what is in them
};

}  // namespace

std::vector<SliceRow> SummarizeSlices(const Profile& profile, profile::LossCounts* losses,
                                      const SliceTableOptions& options) {
  Summary summary(profile, options);
  std::vector<SliceRow> rows = summary.Take();
  if (losses != nullptr) losses->Add(profile::Loss::kChildrenExceedParent, summary.exceeded());
  return rows;
}

}  // namespace inferprobe::analyze
