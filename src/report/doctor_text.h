// What `doctor` prints: a line for each thing that can be measured, or why it cannot.
#pragma once

#include <string>

#include "report/figure_text.h"
#include "report/table.h"

namespace inferprobe::report {

// `rows`: anything with strings `group` and `name` and a Metric<std::string> `state`; what examines
// the machine stands above this room.
template <typename Rows>
std::string DoctorReport(const Rows& rows, Format format) {
  Table table({{"what", Align::kLeft, "group"}, {"name"}, {"available"}, {"state"}});
  for (const auto& row : rows) {
    table.AddRow({Cell::Text(row.group), Cell::Text(row.name), Cell::Text(row.state ? "yes" : "no"),
                  Cell::Text(row.state ? *row.state : MissingText(row.state.missing()))});
  }
  return table.Render(format);
}

}  // namespace inferprobe::report
