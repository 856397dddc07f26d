#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/signals.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "formats/result_json/result_json.h"
#include "measure/level_choices.h"
#include "measure/perf.h"
#include "report/perf_text.h"

namespace inferprobe::cli {
namespace {

std::string WroteLine(const measure::PerfOptions& options, const profile::PerfResult& result) {
  std::string wrote;
  for (const std::string* path : {&options.output, &options.trace, &options.etdump}) {
    if (path->empty()) continue;
    wrote += (wrote.empty() ? "" : ", ") + base::TerminalText(*path);
  }
  // A process that died has written none: engines write theirs when they go.
  const auto died =
      std::count_if(result.processes.begin(), result.processes.end(),
                    [](const profile::ProcessResult& process) { return !process.failure.empty(); });
  const auto lived = static_cast<std::ptrdiff_t>(result.processes.size()) - died;
  if (!options.profile_path_prefix.empty() && lived > 0) {
    wrote += fmt::format(
        "{}each engine's files{} in {}", wrote.empty() ? "" : ", ",
        died == 0 ? "" : fmt::format(" of {} of {} processes", lived, result.processes.size()),
        base::TerminalText(options.profile_path_prefix));
  }
  if (!result.unwritten.empty()) return "";  // the errors say what is missing
  if (wrote.empty()) wrote = "nothing; --output, --trace, --etdump write files";
  return "\nwrote      " + wrote + "\n";
}

int FailureOf(const profile::PerfResult& result) {
  int code = kGood;
  for (const Error& error : result.unwritten) {
    PrintError(error);
    code = kFailed;
  }
  for (const profile::ProcessResult& process : result.processes) {
    if (process.failure.empty()) continue;
    PrintError({ErrorCode::kCrashed,
                result.processes.size() > 1
                    ? fmt::format("process {}: {}", process.index, process.failure)
                    : process.failure,
                ""});
    code = kFailed;
  }
  if (result.outputs.verdict == profile::OutputCheck::Verdict::kMismatch) {
    PrintError(
        {ErrorCode::kEngine, "the outputs are not the expected ones: " + result.outputs.text, ""});
    code = kFailed;
  }
  return code;
}

}  // namespace

int RunPerfCommand(const PerfCommand& command) {
  // The first Ctrl-C ends the measurement and keeps what was drained.
  static std::atomic<bool> cancel{false};
  base::SetOnInterrupt(&cancel);
  base::TurnWriteSignalsIntoErrors();
  ProgressLine line(!command.quiet && base::IsTerminal(base::StandardStream::kError));
  measure::PerfOptions options = command.options;
  auto levels = measure::ParseLevelChoices(command.levels);
  if (!levels) return PrintError(levels.error());
  options.level = levels->all;
  options.delegate_levels = std::move(levels->of_delegates);
  auto result = measure::RunPerf(
      options, [&](const measure::Progress& progress) { line.Show(progress); }, &cancel);
  line.Clear();
  if (!result) return PrintError(result.error());
  if (!command.quiet) {
    report::PerfTextOptions text;
    text.all_rows = command.all_rows;
    text.color = base::WantsColor(base::StandardStream::kOutput);
    text.width = base::TerminalWidth(text.width);
    const auto format = report::ParseFormat(command.format);
    std::string shown = format == report::Format::kJson ? result_json::WriteResultJson(*result)
                                                        : report::PerfReport(*result, format, text);
    if (format == report::Format::kTable) shown += WroteLine(command.options, *result);
    if (auto printed = PrintText(shown); !printed) return PrintError(printed.error());
  }
  return FailureOf(*result);
}

}  // namespace inferprobe::cli
