#include "report/event_list.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text.h"

namespace inferprobe::report {
namespace {

using profile::kNone;
using profile::Profile;
using profile::Slice;
using profile::Status;

constexpr size_t kRowsAtOnce = 4096;
constexpr size_t kWidestTrack = 40;

class EventList {
 public:
  EventList(const Profile& profile, Format format) : profile_(profile), format_(format) {
    for (const profile::Track& track : profile.tracks) any_ticks_ |= track.in_ticks;
    order_.resize(profile.slices.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      const int64_t left = PlaceOf(a);
      const int64_t right = PlaceOf(b);
      if (left != right) return left < right;
      return profile_.slices[a].dur_ns > profile_.slices[b].dur_ns;
    });
    FindRuns();
    Measure();
  }

  Result<void> Write(const std::function<Result<void>(std::string_view)>& write) {
    if (format_ == Format::kJson) return WriteJson(write);
    for (size_t at = 0; at == 0 || at < order_.size(); at += kRowsAtOnce) {
      Table table(Columns());
      const size_t end = std::min(order_.size(), at + kRowsAtOnce);
      for (size_t i = at; i < end; ++i) table.AddRow(CellsOf(order_[i]));
      INFERPROBE_RETURN_IF_ERROR(
          write(at == 0 ? table.Render(format_) : table.RenderRows(format_)));
    }
    return {};
  }

 private:
  [[nodiscard]] bool InTicks(uint32_t slice) const {
    return profile_.tracks[profile_.slices[slice].track].in_ticks;
  }

  [[nodiscard]] int64_t PlaceOf(uint32_t slice) const {
    const Slice& it = profile_.slices[slice];
    if (!InTicks(slice)) return it.start_ns;
    return it.parent < profile_.slices.size() ? profile_.slices[it.parent].start_ns : 0;
  }

  void FindRuns() {
    run_of_.assign(profile_.slices.size(), kNone);
    for (uint32_t run = 0; run < profile_.runs.size(); ++run) {
      const profile::Run& it = profile_.runs[run];
      const size_t end = std::min<size_t>(run_of_.size(), size_t{it.first_slice} + it.slice_count);
      for (size_t i = it.first_slice; i < end && run_of_[i] == kNone; ++i) run_of_[i] = run;
    }
  }

  // Pieces of the table get the same widths.
  void Measure() {
    const auto digits = [](int64_t value) { return std::to_string(value).size(); };
    for (const Slice& slice : profile_.slices) {
      start_width_ = std::max(start_width_, digits(slice.start_ns));
      dur_width_ = std::max(dur_width_, digits(slice.dur_ns));
      category_width_ =
          std::max(category_width_, std::string_view(CategoryName(slice.category)).size());
    }
    for (const profile::Track& track : profile_.tracks) {
      track_width_ = std::max(track_width_, base::DisplayWidth(base::TerminalText(track.name)));
    }
    track_width_ = std::min(track_width_, kWidestTrack);
  }

  [[nodiscard]] std::vector<Column> Columns() const {
    std::vector<Column> columns = {
        {"start_ns", Align::kRight, "", 0, std::max<size_t>(start_width_, 12)},
        {"dur_ns", Align::kRight, "", 0, std::max<size_t>(dur_width_, 12)}};
    if (any_ticks_) {
      columns.push_back({"start_ticks", Align::kRight, "", 0, std::max(start_width_, size_t{12})});
      columns.push_back({"dur_ticks", Align::kRight, "", 0, std::max(dur_width_, size_t{12})});
    }
    const size_t digits = std::to_string(profile_.slices.size()).size();
    columns.push_back({"id", Align::kRight, "", 0, digits});
    columns.push_back({"parent", Align::kRight, "", 0, digits});
    columns.push_back({"run", Align::kRight, "", 0, digits});
    columns.push_back({"instruction", Align::kRight, "", 0, 11});
    columns.push_back({"category", Align::kLeft, "", 0, category_width_});
    columns.push_back({"kind", Align::kLeft, "", 0, 15});
    columns.push_back({"track", Align::kLeft, "", kWidestTrack, track_width_});
    columns.push_back({"name"});
    for (Column& column : columns) {
      column.narrowest = std::max(column.narrowest, column.title.size());
    }
    return columns;
  }

  // In tables a dash reads better than a reason in every line.
  [[nodiscard]] Cell Absent(const char* why) const {
    return format_ == Format::kTable || format_ == Format::kMarkdown
               ? Cell::Drawn("-")
               : Cell::Missing({Status::kUnavailable, why});
  }

  [[nodiscard]] std::vector<Cell> CellsOf(uint32_t index) const {
    const Slice& slice = profile_.slices[index];
    const profile::Track& track = profile_.tracks[slice.track];
    const bool ticks = track.in_ticks;
    std::vector<Cell> cells;
    cells.push_back(ticks ? Absent("in ticks") : Cell::Plain(slice.start_ns));
    cells.push_back(ticks ? Absent("in ticks") : Cell::Plain(slice.dur_ns));
    if (any_ticks_) {
      cells.push_back(ticks ? Cell::Plain(slice.start_ns) : Absent("in ns"));
      cells.push_back(ticks ? Cell::Plain(slice.dur_ns) : Absent("in ns"));
    }
    cells.push_back(Cell::Plain(index));
    cells.push_back(slice.parent == kNone ? Absent("at the top") : Cell::Plain(slice.parent));
    cells.push_back(run_of_[index] == kNone ? Absent("in no run") : Cell::Plain(run_of_[index]));
    const int32_t instruction =
        slice.args < profile_.args.size() ? profile_.args[slice.args].instruction : -1;
    cells.push_back(instruction < 0 ? Absent("no instruction") : Cell::Plain(instruction));
    cells.push_back(Cell::Text(CategoryName(slice.category)));
    cells.push_back(Cell::Text(KindName(track.kind)));
    cells.push_back(Cell::Text(track.name));
    cells.push_back(Cell::Text(NameOf(slice)));
    return cells;
  }

  [[nodiscard]] std::string NameOf(const Slice& slice) const {
    if (slice.name != 0 || slice.args >= profile_.args.size()) {
      return std::string(profile_.Name(slice));
    }
    const profile::SliceArgs& args = profile_.args[slice.args];
    if (args.delegate_debug_name != 0) {
      return std::string(profile_.strings.Get(args.delegate_debug_name));
    }
    return args.delegate_debug_id < 0 ? "" : "id " + std::to_string(args.delegate_debug_id);
  }

  Result<void> WriteJson(const std::function<Result<void>(std::string_view)>& write) {
    base::JsonWriter json;
    const std::vector<Column> columns = Columns();
    json.BeginArray();
    for (size_t i = 0; i < order_.size(); ++i) {
      const std::vector<Cell> cells = CellsOf(order_[i]);
      json.BeginObject();
      for (size_t k = 0; k < columns.size(); ++k) {
        json.Key(columns[k].title);
        cells[k].WriteJson(json);
      }
      json.EndObject();
      if (i % kRowsAtOnce == 0) INFERPROBE_RETURN_IF_ERROR(write(json.Drain()));
    }
    json.EndArray();
    return write(json.Drain());
  }

  const Profile& profile_;
  Format format_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> run_of_;
  bool any_ticks_ = false;
  size_t start_width_ = 0;
  size_t dur_width_ = 0;
  size_t category_width_ = 0;
  size_t track_width_ = 0;
};

}  // namespace

Result<void> WriteEvents(const Profile& profile, Format format,
                         const std::function<Result<void>(std::string_view)>& write) {
  return EventList(profile, format).Write(write);
}

}  // namespace inferprobe::report
