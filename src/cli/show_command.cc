// `show`: the tables of `perf`, as far as a file has the data.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/signals.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "formats/result_json/result_json.h"
#include "report/counter_table.h"
#include "report/event_list.h"
#include "report/lines.h"
#include "report/loss_table.h"
#include "report/perf_text.h"

namespace inferprobe::cli {
namespace {

Result<void> PrintEvents(const formats::Opened& opened, const std::string& path,
                         report::Format format) {
  if (!opened.recording) {
    return MakeError(ErrorCode::kUnsupported,
                     path + ": a result holds figures, not the slices that they come from",
                     "show --events needs the trace: inferprobe perf MODEL --trace out.pftrace");
  }
  const profile::Profile& profile = opened.recording->profile;
  INFERPROBE_RETURN_IF_ERROR(
      report::WriteEvents(profile, format, [](std::string_view text) { return PrintText(text); }));
  if (!profile.counters.empty()) {
    fmt::print(stderr, "not listed: {}, which are no slices (show without --events has them)\n",
               report::Counted(profile.counters.size(), "sample") + " of counters");
  }
  return {};
}

// What a table has beside the figures. Its counters are shown, and so not counted as left out.
std::string TakeCounters(profile::Recording& recording, bool all_rows) {
  profile::Profile& profile = recording.profile;
  const bool empty = profile.slices.empty() && profile.runs.empty() && profile.counters.empty();
  if (empty && profile.losses.Get(profile::Loss::kNoEvents) == 0) {
    return "\nthe file holds neither slices nor counters\n";
  }
  std::string table = report::CounterTable(profile, all_rows);
  profile.counters = {};
  return table;
}

Result<void> PrintTables(const profile::PerfResult& result, const ShowCommand& command,
                         report::Format format, std::string counters) {
  if (format == report::Format::kJson && !command.regions)
    return PrintText(result_json::WriteResultJson(result));
  report::PerfTextOptions text;
  text.all_rows = command.all_rows;
  text.only_regions = command.regions;
  text.counters = std::move(counters);
  text.color = base::WantsColor(base::StandardStream::kOutput);
  text.width = base::TerminalWidth(text.width);
  return PrintText(report::PerfReport(result, format, text));
}

// To the side of rows for a program, or of a list of events.
void PrintLosses(const profile::LossCounts& losses) {
  const std::string table = report::LossTable(losses);
  if (!table.empty()) std::fputs(table.substr(1).c_str(), stderr);
}

}  // namespace

int RunShowCommand(const ShowCommand& command) {
  base::TurnSizeSignalIntoErrors();
  auto opened = OpenFile(command.path, command.read, false);
  if (!opened) return PrintError(opened.error());
  const report::Format format = report::ParseFormat(command.format);
  profile::LossCounts losses;
  if (command.events) {
    if (auto shown = PrintEvents(*opened, command.path, format); !shown) {
      return PrintError(shown.error());
    }
    losses = opened->recording->profile.losses;
  } else {
    std::string counters;
    if (opened->recording && format == report::Format::kTable) {
      counters = TakeCounters(*opened->recording, command.all_rows);
    }
    const profile::PerfResult result = formats::FiguresOf(*std::move(opened));
    if (auto shown = PrintTables(result, command, format, std::move(counters)); !shown) {
      return PrintError(shown.error());
    }
    losses = result.losses;
  }
  // The table and the result carry them already.
  const bool carried = !command.events && !command.regions &&
                       (format == report::Format::kTable || format == report::Format::kJson);
  if (!carried) PrintLosses(losses);
  auto strict = CheckStrict(command.read, losses, command.path);
  return strict ? kGood : PrintError(strict.error());
}

}  // namespace inferprobe::cli
