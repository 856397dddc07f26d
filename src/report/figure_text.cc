#include "report/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace inferprobe::report {
namespace {

constexpr const char* kNotFinite = "n/a (not finite)";

}  // namespace

std::string MissingText(profile::Status status) {
  return fmt::format("n/a ({})", profile::StatusText(status));
}

std::string MissingText(const profile::Missing& missing) {
  if (missing.hint.empty()) return MissingText(missing.status);
  return fmt::format("n/a ({}: {})", profile::StatusText(missing.status),
                     base::TerminalText(missing.hint));
}

TimeUnit::TimeUnit(double typical_ns) {
  const double size = std::fabs(typical_ns);
  if (size >= 999.5e6) {
    ns_ = 1e9;
    name_ = "s";
  } else if (size >= 99'950) {
    ns_ = 1e6;
    name_ = "ms";
  } else if (size >= 999.5) {
    ns_ = 1e3;
    name_ = "us";
  }
  const double value = size / ns_;
  const double digits = value > 0 ? std::floor(std::log10(value)) + 1 : 1;
  decimals_ = static_cast<int>(std::clamp(4 - digits, 0.0, 4.0));
}

std::string TimeUnit::Value(double ns) const {
  return std::isfinite(ns) ? fmt::format("{:.{}f}", ns / ns_, decimals_) : kNotFinite;
}

std::string TimeUnit::Text(double ns) const {
  return std::isfinite(ns) ? Value(ns) + ' ' + name_ : kNotFinite;
}

std::string IntervalText(const profile::Metric<profile::Interval>& interval_ms,
                         const TimeUnit& unit) {
  if (!interval_ms) return MissingText(interval_ms.missing().status);
  const std::string low = unit.Value(interval_ms->low * 1e6);
  if (interval_ms->open_above) return fmt::format("[{}, …", low);
  return fmt::format("[{}, {}]", low, unit.Value(interval_ms->high * 1e6));
}

std::string ChangeText(double ratio) {
  const double percent = std::round((ratio - 1) * 1000) / 10;
  return fmt::format("{:+.1f} %", percent == 0 ? 0.0 : percent);  // not "-0.0"
}

std::string Histogram(const std::vector<std::vector<double>>& samples, size_t bins) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = INFINITY;
  double high = -INFINITY;
  for (const std::vector<double>& list : samples) {
    for (const double sample : list) {
      if (!std::isfinite(sample)) continue;
      low = std::min(low, sample);
      high = std::max(high, sample);
    }
  }
  if (!(low < high) || bins == 0) return {};
  std::vector<size_t> counts(bins, 0);
  for (const std::vector<double>& list : samples) {
    for (const double sample : list) {
      if (!std::isfinite(sample)) continue;
      const double place = (sample - low) / (high - low) * static_cast<double>(bins);
      ++counts[std::min(static_cast<size_t>(place), bins - 1)];
    }
  }
  const size_t most = *std::max_element(counts.begin(), counts.end());
  std::string out;
  for (const size_t count : counts) out += kBars[(count * 8 + most - 1) / most];
  return out;
}

}  // namespace inferprobe::report
