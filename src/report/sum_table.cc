#include "report/sum_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "report/figure_text.h"
#include "report/largest.h"
#include "report/lines.h"
#include "report/row_cells.h"

namespace inferprobe::report {
namespace {

using profile::SumRow;

constexpr size_t kMostRows = 20;  // of a track
constexpr size_t kMostTracks = 20;

std::string ErrorText(const std::vector<SumRow>& rows, size_t begin, size_t end) {
  std::optional<int64_t> most_ns;
  for (size_t i = begin; i < end; ++i) {
    if (rows[i].error_ns) most_ns = std::max(most_ns.value_or(0), *rows[i].error_ns);
  }
  return most_ns ? RunningMeanText(static_cast<double>(*most_ns)) : "";
}

// A sum within its error says as little as its mean.
Cell TotalCell(const SumRow& row) {
  const bool below =
      !row.mean_ns && row.mean_ns.missing().status == profile::Status::kBelowResolution;
  return below ? Cell::Missing(row.mean_ns.missing())
               : Cell::Duration(static_cast<double>(row.total_ns));
}

// Rows [begin, end) are of one track.
std::string TrackTable(const std::vector<SumRow>& rows, size_t begin, size_t end,
                       const PerfTextOptions& options) {
  const size_t widest = options.all_rows ? 0 : (options.width > 80 ? options.width - 50 : 30);
  Table table({{"share", Align::kRight},
               {"total", Align::kRight},
               {"mean", Align::kRight},
               {"median", Align::kRight},
               {"calls", Align::kRight},
               {"what", Align::kLeft, "", widest}});
  std::vector<size_t> shown;
  for (size_t i = begin; i < end; ++i) shown.push_back(i);
  if (!options.all_rows) {
    KeepLargest(shown, kMostRows, [&](size_t row) { return rows[row].total_ns; });
  }
  for (const size_t i : shown) {
    const SumRow& row = rows[i];
    table.AddRow({Cell::Percent(row.share), TotalCell(row), Cell::Duration(row.mean_ns),
                  Cell::Duration(row.p50_ns), Cell::Int(static_cast<int64_t>(row.calls)),
                  Cell::Drawn(NameText(row.name))});
  }
  std::string out =
      fmt::format("\n{} ({}, sums over all calls; part of no latency)\n",
                  rows[begin].track.empty() ? "(unnamed track)" : NameText(rows[begin].track),
                  profile::KindText(rows[begin].kind)) +
      ErrorText(rows, begin, end) + table.Render(Format::kTable, 2);
  if (const size_t more = end - begin - shown.size(); more != 0) {
    out += fmt::format("  … {} with less time: --all\n", Counted(more, "more layer"));
  }
  return out;
}

}  // namespace

Table SumTable(const profile::PerfResult& result) {
  Table table({{"track"},
               {"kind"},
               {"name"},
               {"calls", Align::kRight},
               {"total", Align::kRight, "total_ns"},
               {"mean", Align::kRight, "mean_ns"},
               {"median", Align::kRight, "p50_ns"},
               {"share", Align::kRight}});
  for (const SumRow& row : result.sums) {
    table.AddRow({Cell::Text(row.track), Cell::Text(profile::KindName(row.kind)),
                  Cell::Text(row.name), Cell::Int(static_cast<int64_t>(row.calls)),
                  Cell::Duration(static_cast<double>(row.total_ns)), Cell::Duration(row.mean_ns),
                  Cell::Duration(row.p50_ns), Cell::Percent(row.share)});
  }
  return table;
}

std::string SumTables(const profile::PerfResult& result, const PerfTextOptions& options) {
  const std::vector<SumRow>& rows = result.sums;
  std::string out;
  size_t tracks = 0;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].track == rows[begin].track) ++end;
    if (options.all_rows || tracks++ < kMostTracks) out += TrackTable(rows, begin, end, options);
  }
  if (!options.all_rows && tracks > kMostTracks) {
    out += fmt::format("\n… and {}: --all\n", Counted(tracks - kMostTracks, "more track"));
  }
  return out;
}

}  // namespace inferprobe::report
