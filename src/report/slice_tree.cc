#include "report/slice_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/saturating.h"
#include "base/text.h"
#include "report/largest.h"
#include "report/lines.h"

namespace inferprobe::report {
namespace {

using profile::kNone;
using profile::SliceRow;

constexpr size_t kMostSiblings = 20;
constexpr size_t kMostTracks = 20;
constexpr uint32_t kDeepestShown = 32;
constexpr uint32_t kDeepestFolded = 8;  // at least, however narrow the terminal is
constexpr size_t kFoldedWidth = 24;     // "… 1,000 deeper: --all"

class Tree {
 public:
  Tree(const profile::PerfResult& result, const PerfTextOptions& options)
      : rows_(result.slices),
        options_(options),
        name_width_(options.width > 80 ? options.width - 50 : 30),
        deepest_(options.all_rows
                     ? kDeepestShown
                     : std::clamp(static_cast<uint32_t>((name_width_ - kFoldedWidth) / 3),
                                  kDeepestFolded, kDeepestShown)),
        children_(rows_.size()) {
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].parent < children_.size()) children_[rows_[i].parent].push_back(i);
    }
  }

  // The rows from `begin` on that are of one track.
  std::string RenderTrack(size_t begin, size_t end) {
    Table table({{"total", Align::kRight},
                 {"mean", Align::kRight},
                 {"min", Align::kRight},
                 {"max", Align::kRight},
                 {"calls", Align::kRight},
                 {"what", Align::kLeft, "", options_.all_rows ? 0 : name_width_}});
    std::vector<uint32_t> roots;
    for (size_t i = begin; i < end; ++i) {
      if (rows_[i].parent == kNone) roots.push_back(static_cast<uint32_t>(i));
    }
    AddSiblings(table, roots, "", true);
    return table.Render(Format::kTable, 2);
  }

 private:
  void AddSiblings(Table& table, const std::vector<uint32_t>& siblings, const std::string& lead,
                   bool outermost) {
    if (siblings.empty()) return;
    if (rows_[siblings.front()].depth >= deepest_) {
      // Not behind a lead that the column has no room for.
      const size_t room = std::min(size_t{3} * deepest_, name_width_ - kFoldedWidth);
      AddFolded(table, std::string(room, ' '), siblings.size(),
                options_.all_rows ? "rows and what is below them" : "deeper: --all");
      return;
    }
    std::vector<uint32_t> shown = siblings;
    if (!options_.all_rows) {
      KeepLargest(shown, kMostSiblings, [&](uint32_t row) { return rows_[row].total_ns; });
    }
    const size_t folded = siblings.size() - shown.size();
    for (size_t i = 0; i < shown.size(); ++i) {
      const bool last = i + 1 == shown.size() && folded == 0;
      AddRow(table, rows_[shown[i]], outermost ? "" : lead + (last ? "└─ " : "├─ "));
      AddSiblings(table, children_[shown[i]], outermost ? "" : lead + (last ? "   " : "│  "),
                  false);
    }
    if (folded != 0) {
      AddFolded(table, outermost ? "" : lead + "└─ ", folded, "smaller rows: --all");
    }
  }

  static void AddRow(Table& table, const SliceRow& row, const std::string& branch) {
    const std::string name = row.name.empty() ? "(unnamed)" : base::TerminalText(row.name);
    table.AddRow({Cell::Duration(static_cast<double>(row.total_ns)), Cell::Duration(row.mean_ns),
                  Cell::Duration(static_cast<double>(row.min_ns)),
                  Cell::Duration(static_cast<double>(row.max_ns)),
                  Cell::Int(static_cast<int64_t>(row.calls)), Cell::Drawn(branch + name)});
  }

  static void AddFolded(Table& table, const std::string& branch, size_t rows, const char* what) {
    table.AddRow({Cell::Drawn(""), Cell::Drawn(""), Cell::Drawn(""), Cell::Drawn(""),
                  Cell::Drawn(""), Cell::Drawn(fmt::format("{}… {} {}", branch, rows, what))});
  }

  const std::vector<SliceRow>& rows_;
  const PerfTextOptions& options_;
  size_t name_width_;
  uint32_t deepest_;
  std::vector<std::vector<uint32_t>> children_;
};

}  // namespace

Table SliceTable(const profile::PerfResult& result) {
  Table table({{"id", Align::kRight},
               {"parent", Align::kRight},
               {"track"},
               {"kind"},
               {"name"},
               {"calls", Align::kRight},
               {"total", Align::kRight, "total_ns"},
               {"self", Align::kRight, "self_ns"},
               {"mean", Align::kRight, "mean_ns"},
               {"min", Align::kRight, "min_ns"},
               {"max", Align::kRight, "max_ns"}});
  for (const SliceRow& row : result.slices) {
    table.AddRow({Cell::Int(row.id),
                  row.parent == kNone ? Cell::Missing({profile::Status::kUnavailable, "at the top"})
                                      : Cell::Int(int64_t{row.parent}),
                  Cell::Text(row.track), Cell::Text(profile::KindName(row.kind)),
                  Cell::Text(row.name), Cell::Int(static_cast<int64_t>(row.calls)),
                  Cell::Duration(static_cast<double>(row.total_ns)),
                  Cell::Duration(static_cast<double>(row.self_ns)), Cell::Duration(row.mean_ns),
                  Cell::Duration(static_cast<double>(row.min_ns)),
                  Cell::Duration(static_cast<double>(row.max_ns))});
  }
  return table;
}

namespace {

// Rows [begin, end) are of one track.
struct TrackRows {
  size_t begin;
  size_t end;
  int64_t total_ns;
};

std::vector<TrackRows> TracksOf(const std::vector<SliceRow>& rows) {
  std::vector<TrackRows> tracks;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool outermost = rows[i].parent == kNone;
    if (i == 0 || (outermost && rows[i].track != rows[tracks.back().begin].track)) {
      tracks.push_back({i, i, 0});
    }
    tracks.back().end = i + 1;
    int64_t& total_ns = tracks.back().total_ns;
    if (outermost) total_ns = base::SaturatingAdd(total_ns, rows[i].total_ns);
  }
  return tracks;
}

}  // namespace

std::string SliceTree(const profile::PerfResult& result, const PerfTextOptions& options) {
  const std::vector<SliceRow>& rows = result.slices;
  std::vector<TrackRows> tracks = TracksOf(rows);
  const size_t all = tracks.size();
  if (!options.all_rows) {
    KeepLargest(tracks, kMostTracks, [](const TrackRows& track) { return track.total_ns; });
  }
  std::string out;
  Tree tree(result, options);
  for (const TrackRows& track : tracks) {
    const SliceRow& first = rows[track.begin];
    out += fmt::format("\n{} ({}, the whole recording)\n",
                       first.track.empty() ? "(unnamed track)" : base::TerminalText(first.track),
                       profile::KindText(first.kind));
    out += tree.RenderTrack(track.begin, track.end);
  }
  if (all > tracks.size()) {
    out += fmt::format("\n… and {} with less in them: --all\n",
                       Counted(all - tracks.size(), "more track"));
  }
  return out;
}

}  // namespace inferprobe::report
