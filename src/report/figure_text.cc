#include "report/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"

namespace inferprobe::report {
namespace {

constexpr const char* kNotFinite = "n/a (not finite)";

}  // namespace

std::string MissingText(profile::Status status) {
  return fmt::format("n/a ({})", StatusText(status));
}

std::string MissingText(const profile::Missing& missing) {
  if (missing.hint.empty()) return MissingText(missing.status);
  return fmt::format("n/a ({}: {})", StatusText(missing.status), base::TerminalText(missing.hint));
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
  if (interval_ms->open_above) return fmt::format("[{}, …)", low);
  return fmt::format("[{}, {}]", low, unit.Value(interval_ms->high * 1e6));
}

std::string RunningMeanText(const profile::Metric<double>& error_ns) {
  return fmt::format(
      "  the engine keeps running means in whole units: each mean below may be off by {}\n",
      error_ns ? base::FormatDurationNs(*error_ns) : MissingText(error_ns.missing()));
}

std::string ChangeText(double ratio) {
  const double percent = std::round((ratio - 1) * 1000) / 10;
  return fmt::format("{:+.1f} %", percent == 0 ? 0.0 : percent);  // not "-0.0"
}

Bars Histogram(const std::vector<std::vector<double>>& samples, size_t bins) {
  static constexpr const char* kHeights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr size_t kLeastForP99 = 20;
  std::vector<double> all;
  for (const std::vector<double>& list : samples) {
    std::copy_if(list.begin(), list.end(), std::back_inserter(all),
                 [](double sample) { return std::isfinite(sample); });
  }
  std::sort(all.begin(), all.end());
  Bars bars;
  if (all.empty() || bins == 0 || all.front() == all.back()) return bars;
  bars.low = all.front();
  bars.high = bars.max = all.back();
  const double p99 = all[(all.size() - 1) * 99 / 100];
  if (all.size() >= kLeastForP99 && p99 > bars.low && bars.max - bars.low > 2 * (p99 - bars.low)) {
    bars.high = p99;
  }
  std::vector<size_t> counts(bins, 0);
  for (const double sample : all) {
    if (sample > bars.high) {
      ++bars.beyond;
      continue;
    }
    const double place = (sample - bars.low) / (bars.high - bars.low) * static_cast<double>(bins);
    ++counts[std::min(static_cast<size_t>(place), bins - 1)];
  }
  const size_t most = *std::max_element(counts.begin(), counts.end());
  for (const size_t count : counts) bars.text += kHeights[(count * 8 + most - 1) / most];
  return bars;
}

}  // namespace inferprobe::report
