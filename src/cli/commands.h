// The commands behind the command line. Parsing is main.cc's; each of these does one command and
// returns the process's exit code: 0 good, 1 failed, 2 wrong usage.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/read_flags.h"
#include "inferprobe/result.h"
#include "measure/perf.h"
#include "measure/tune.h"

namespace inferprobe::cli {

enum ExitCode : int { kGood = 0, kFailed = 1, kWrongUsage = 2 };

struct PerfCommand {
  measure::PerfOptions options;
  std::vector<std::string> levels;  // "phases", or of one delegate "openvino=phases"
  std::string format = "table";
  bool all_rows = false;
  bool quiet = false;
};
int RunPerfCommand(const PerfCommand& command);

struct TuneCommand {
  measure::TuneOptions options;
  std::vector<std::string> grains;  // asked for; a model has none that can be set
  std::string format = "table";
  bool quiet = false;
};
int RunTuneCommand(const TuneCommand& command);

struct ShowCommand {
  std::string path;
  ReadFlags read;
  std::string format = "table";
  bool events = false;
  bool regions = false;  // of everything only the parallel regions
  bool all_rows = false;
};
int RunShowCommand(const ShowCommand& command);

struct ConvertCommand {
  std::string in;
  std::string out;
  std::string to;  // "": by the ending of `out`
  ReadFlags read;
  bool force = false;
  bool quiet = false;
};
int RunConvertCommand(const ConvertCommand& command);

struct DoctorCommand {
  std::string format = "table";
};
int RunDoctorCommand(const DoctorCommand& command);

// Writes all of `text` to standard output; an error when it does not get there.
Result<void> PrintText(std::string_view text);

// The one place that prints an error: "inferprobe: message", then the hint on a line of its own, on
// stderr. Returns the exit code that fits.
int PrintError(const Error& error);

}  // namespace inferprobe::cli
