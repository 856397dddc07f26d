#include <fmt/format.h>

#include <atomic>

#include "base/signals.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "formats/result_json/result_json.h"
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
  if (!options.profile_path_prefix.empty()) {
    wrote += (wrote.empty() ? "" : ", ") + std::string("each engine's files in ") +
             base::TerminalText(options.profile_path_prefix);
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
  for (const std::string& level : command.levels) {
    if (level.find('=') == std::string::npos) {
      options.level = level;
    } else {
      options.delegate_levels.push_back(level);
    }
  }
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
