// The commands behind the command line. Parsing is main.cc's; each of these does one command and
// returns the process's exit code: 0 good, 1 failed, 2 wrong usage.
#pragma once

#include <string>
#include <vector>

#include "inferprobe/result.h"
#include "measure/perf.h"

namespace inferprobe::cli {

enum ExitCode : int { kGood = 0, kFailed = 1, kWrongUsage = 2 };

struct PerfCommand {
  measure::PerfOptions options;
  std::string format = "table";
  bool all_rows = false;
  bool quiet = false;
};
int RunPerfCommand(PerfCommand command);

struct DoctorCommand {
  std::string format = "table";
};
int RunDoctorCommand(const DoctorCommand& command);

// Writes all of `text` to standard output; an error when it does not get there.
Result<void> PrintText(const std::string& text);

// The one place that prints an error: "inferprobe: message", then the hint on a line of its own, on
// stderr. Returns the exit code that fits.
int PrintError(const Error& error);

}  // namespace inferprobe::cli
