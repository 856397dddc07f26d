// Cells that all tables of rows have.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "report/table.h"

namespace inferprobe::report {

inline std::string NameText(std::string_view name) {
  return name.empty() ? "(unnamed)" : base::TerminalText(name);
}

inline Cell CallsCell(double calls_per_run) {
  if (calls_per_run >= 1000) return Cell::Drawn(base::FormatCount(calls_per_run));
  return Cell::Drawn(calls_per_run < 0.01 ? fmt::format("{:.3g}", calls_per_run)
                                          : fmt::format("{:.4g}", calls_per_run));
}

inline std::string MoreText(size_t more) {
  return more == 0 ? std::string() : fmt::format("  … {} more: --all\n", more);
}

}  // namespace inferprobe::report
