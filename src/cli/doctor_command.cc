#include <cstdio>

#include "base/files.h"
#include "cli/commands.h"
#include "measure/doctor.h"
#include "report/doctor_text.h"

namespace inferprobe::cli {

int RunDoctorCommand(const DoctorCommand& command) {
  const std::vector<measure::DoctorRow> rows = measure::Examine(base::ExecutablePath());
  std::fputs(report::DoctorReport(rows, report::ParseFormat(command.format)).c_str(), stdout);
  return std::fflush(stdout) == 0 ? kGood : kFailed;
}

}  // namespace inferprobe::cli
