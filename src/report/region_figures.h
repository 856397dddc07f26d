// How figures and names of parallel regions are written, alike in all that is printed of them.
//
// The rule that people break: a file may hold figures that are none. They are printed as such, and
// sorted behind all others.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "profile/region_report.h"
#include "profile/result.h"
#include "report/figure_text.h"

namespace inferprobe::report {

inline bool IsFinite(const profile::Metric<double>& figure) {
  return figure && std::isfinite(*figure);
}

inline std::string TimeText(const profile::Metric<double>& ns) {
  if (ns && !IsFinite(ns)) return "n/a (not finite)";
  return ns ? base::FormatDurationNs(*ns) : MissingText(ns.missing().status);
}

inline std::string PercentText(const profile::Metric<double>& ratio) {
  if (ratio && !IsFinite(ratio)) return "n/a (not finite)";
  return ratio ? fmt::format("{:.0f} %", *ratio * 100) : MissingText(ratio.missing().status);
}

// "2", "1.5"; machines and people alike.
inline std::string MeanText(double value) {
  constexpr double kWhole = 999.5;  // three digits would be "1e+03"
  return std::fabs(value) < kWhole ? fmt::format("{:.3g}", value) : base::FormatCount(value);
}

// Instructions of one name are told apart as in "where the time goes".
class OperatorNames {
 public:
  // `result`, whose regions are there, must outlive it.
  explicit OperatorNames(const profile::PerfResult& result) : ops_(result.ops) {
    for (const profile::RegionOperator& op : result.regions->operators) {
      if (op.op < ops_.size()) ++count_[ops_[op.op].name];
    }
  }

  // As the model has it.
  [[nodiscard]] std::string Name(uint32_t op) const {
    return op < ops_.size() ? ops_[op].name : std::string("(unknown row)");
  }
  // " [12]"; "" where the name tells.
  [[nodiscard]] std::string Instruction(uint32_t op) const {
    if (op >= ops_.size() || !ops_[op].instruction) return "";
    const auto found = count_.find(ops_[op].name);
    if (found == count_.end() || found->second < 2) return "";
    return fmt::format(" [{}]", *ops_[op].instruction);
  }

 private:
  const std::vector<profile::OpRow>& ops_;
  std::unordered_map<std::string, size_t> count_;
};

}  // namespace inferprobe::report
