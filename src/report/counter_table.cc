#include "report/counter_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/lines.h"
#include "report/table.h"

namespace inferprobe::report {
namespace {

using profile::CounterSample;
using profile::Profile;

constexpr size_t kWidestName = 60;
constexpr size_t kWidestUnit = 16;

struct Counter {
  uint16_t track = 0;
  uint64_t samples = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

// By track, those that have samples.
std::vector<Counter> CountersOf(const Profile& profile) {
  std::vector<Counter> counters(profile.tracks.size());
  for (const CounterSample& sample : profile.counters) {
    Counter& counter = counters[sample.track];
    if (counter.samples++ == 0) {
      counter = {sample.track, 1, sample.value, sample.value, 0, sample.time_ns, sample.time_ns};
    }
    // A value that is no number is in the mean, which then is none, and not in the range.
    counter.min = std::fmin(counter.min, sample.value);
    counter.max = std::fmax(counter.max, sample.value);
    counter.sum += sample.value;
    counter.first_ns = std::min(counter.first_ns, sample.time_ns);
    counter.last_ns = std::max(counter.last_ns, sample.time_ns);
  }
  std::erase_if(counters, [](const Counter& counter) { return counter.samples == 0; });
  return counters;
}

// Bytes and events are large whole numbers, temperatures small ones with a fraction.
Cell Value(double value) {
  constexpr double kWhole = 1e15;
  const double size = std::fabs(value);
  const bool whole = size < kWhole && (size >= 1'000 || value == std::trunc(value));
  return whole ? Cell::Drawn(base::FormatCount(value)) : Cell::Number(value);
}

}  // namespace

std::string CounterTable(const Profile& profile, bool all) {
  const std::vector<Counter> counters = CountersOf(profile);
  if (counters.empty()) return {};
  Table table({{"samples", Align::kRight},
               {"min", Align::kRight},
               {"mean", Align::kRight},
               {"max", Align::kRight},
               {"unit", Align::kLeft, "", kWidestUnit},
               {"first", Align::kRight},
               {"last", Align::kRight},
               {"process", Align::kRight},
               {"what", Align::kLeft, "", all ? 0 : kWidestName}});
  const size_t shown = all ? counters.size() : std::min(counters.size(), kMostCounters);
  const auto start =
      std::min_element(counters.begin(), counters.end(),
                       [](const Counter& a, const Counter& b) { return a.first_ns < b.first_ns; });
  const auto since = [&](int64_t time_ns) {
    return Cell::Duration(static_cast<double>(time_ns) - static_cast<double>(start->first_ns));
  };
  for (size_t i = 0; i < shown; ++i) {
    const Counter& counter = counters[i];
    const profile::Track& track = profile.tracks[counter.track];
    table.AddRow({Cell::Int(static_cast<int64_t>(counter.samples)), Value(counter.min),
                  Value(counter.sum / static_cast<double>(counter.samples)), Value(counter.max),
                  Cell::Text(track.unit), since(counter.first_ns), since(counter.last_ns),
                  track.pid == 0 ? Cell::Drawn("-") : Cell::Plain(track.pid),
                  Cell::Text(track.name.empty() ? "(unnamed)" : track.name)});
  }
  std::string out = "\ncounters (mean of the samples; times since the first one)\n" +
                    table.Render(Format::kTable, 2);
  if (shown < counters.size()) {
    out += fmt::format("  … and {}: --all\n", Counted(counters.size() - shown, "more counter"));
  }
  return out;
}

}  // namespace inferprobe::report
