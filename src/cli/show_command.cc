// `show`: the tables of `perf`, as far as a file has the data.
#include <cstdio>

#include "base/signals.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "formats/result_json/result_json.h"
#include "report/event_list.h"
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
  return report::WriteEvents(opened.recording->profile, format,
                             [](std::string_view text) { return PrintText(text); });
}

Result<void> PrintTables(const profile::PerfResult& result, const ShowCommand& command,
                         report::Format format) {
  if (format == report::Format::kJson) return PrintText(result_json::WriteResultJson(result));
  report::PerfTextOptions text;
  text.all_rows = command.all_rows;
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
    const profile::PerfResult result = formats::FiguresOf(*std::move(opened));
    if (auto shown = PrintTables(result, command, format); !shown) {
      return PrintError(shown.error());
    }
    losses = result.losses;
  }
  // The table and the result carry them already.
  const bool carried =
      !command.events && (format == report::Format::kTable || format == report::Format::kJson);
  if (!carried) PrintLosses(losses);
  auto strict = CheckStrict(command.read, losses, command.path);
  return strict ? kGood : PrintError(strict.error());
}

}  // namespace inferprobe::cli
