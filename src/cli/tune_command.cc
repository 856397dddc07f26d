#include <atomic>

#include "base/signals.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "measure/tune.h"
#include "report/tune_text.h"

namespace inferprobe::cli {

int RunTuneCommand(const TuneCommand& command) {
  if (!command.grains.empty()) {
    return PrintError(
        {ErrorCode::kInvalidArgument,
         "the grains of a model's loops are fixed in its runtime's code: they are not adjustable",
         "tune --threads; loops of your own with inferprobe::TuneLoop() (inferprobe/tune.h)"});
  }
  static std::atomic<bool> cancel{false};
  base::SetOnInterrupt(&cancel);
  base::TurnWriteSignalsIntoErrors();
  ProgressLine line(!command.quiet && base::IsTerminal(base::StandardStream::kError));
  auto result = measure::RunTune(
      command.options, [&](const measure::Progress& progress) { line.Show(progress); }, &cancel);
  line.Clear();
  if (!result) return PrintError(result.error());
  auto printed = PrintText(report::TuneReport(*result, report::ParseFormat(command.format)));
  return printed ? kGood : PrintError(printed.error());
}

}  // namespace inferprobe::cli
