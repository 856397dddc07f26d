#include "base/files.h"
#include "cli/commands.h"
#include "measure/doctor.h"
#include "report/doctor_text.h"

namespace inferprobe::cli {

int RunDoctorCommand(const DoctorCommand& command) {
  const std::vector<measure::DoctorRow> rows = measure::Examine(base::ExecutablePath());
  auto printed = PrintText(report::DoctorReport(rows, report::ParseFormat(command.format)));
  return printed ? kGood : PrintError(printed.error());
}

}  // namespace inferprobe::cli
