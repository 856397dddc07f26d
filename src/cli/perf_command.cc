#include <fmt/format.h>

#include <atomic>
#include <cstdio>

#include "base/signals.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "formats/result_json/result_json.h"
#include "measure/perf.h"
#include "report/perf_text.h"

namespace inferprobe::cli {
namespace {

int FailureOf(const profile::PerfResult& result) {
  int code = kGood;
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

int RunPerfCommand(PerfCommand command) {
  // The first Ctrl-C ends the measurement and keeps what was drained.
  static std::atomic<bool> cancel{false};
  base::SetOnInterrupt(&cancel);
  base::TurnWriteSignalsIntoErrors();
  ProgressLine line(!command.quiet && base::IsTerminal(base::StandardStream::kError));
  auto result = measure::RunPerf(
      command.options, [&](const measure::Progress& progress) { line.Show(progress); }, &cancel);
  line.Clear();
  if (!result) return PrintError(result.error());
  if (!command.quiet) {
    report::PerfTextOptions text;
    text.all_rows = command.all_rows;
    text.color = base::WantsColor(base::StandardStream::kOutput);
    text.width = base::TerminalWidth(text.width);
    const auto format = report::ParseFormat(command.format);
    const std::string shown = format == report::Format::kJson
                                  ? result_json::WriteResultJson(*result)
                                  : report::PerfReport(*result, format, text);
    std::fputs(shown.c_str(), stdout);
    if (format == report::Format::kTable) {
      std::string wrote;
      for (const std::string* path :
           {&command.options.output, &command.options.trace, &command.options.etdump}) {
        if (!path->empty()) wrote += (wrote.empty() ? "" : ", ") + *path;
      }
      fmt::print("\nwrote      {}\n",
                 wrote.empty() ? "nothing; --output, --trace, --etdump write files" : wrote);
    }
    if (std::fflush(stdout) != 0) {
      return PrintError({ErrorCode::kIo, "cannot write to standard output", ""});
    }
  }
  return FailureOf(*result);
}

}  // namespace inferprobe::cli
