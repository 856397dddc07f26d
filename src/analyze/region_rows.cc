#include "analyze/region_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/resolution.h"
#include "analyze/statistics.h"

namespace inferprobe::analyze {
namespace {

using profile::kNone;
using profile::Metric;
using profile::Missing;
using profile::Profile;
using profile::Region;
using profile::RegionRow;
using profile::Status;

constexpr const char* kHowToSeeBusy = "--regions=busy sees who took part";
constexpr const char* kHowToSeeCpu = "--regions=cpu reads the CPU clocks";

// Why a participant has no CPU time.
const char* WhyNoCpu(Status status) {
  if (status == Status::kNotRequested) return kHowToSeeCpu;
  if (status != Status::kBelowResolution) return "";
  return "a participant was busy for too short: its CPU clock is read every 20 us at most";
}

double NotNegative(int64_t value) { return static_cast<double>(std::max<int64_t>(value, 0)); }

// Why nothing is said about a region's participants.
std::optional<Missing> NoParticipants(const Region& region) {
  if (region.participants_status != Status::kValid) {
    return Missing{region.participants_status,
                   region.participants_status == Status::kNotRequested ? kHowToSeeBusy : ""};
  }
  if (region.participants_dropped != 0) {
    return Missing{Status::kOverflow,
                   fmt::format("{} of its participants found no place in the collector",
                               region.participants_dropped)};
  }
  return std::nullopt;
}

struct RowId {
  uint32_t op = kNone;
  uint32_t outer = kNone;  // row of the region that it ran in
  uint32_t ordinal = 0;    // in its operator; of outermost ones
  uint32_t label = 0;
  uint32_t file = 0;  // of nested ones, whose order no run repeats
  uint32_t line = 0;
  bool operator==(const RowId&) const = default;
};
struct RowIdHash {
  size_t operator()(const RowId& id) const {
    uint64_t hash = 0xcbf29ce484222325;
    for (const uint64_t part : {uint64_t{id.op}, uint64_t{id.outer}, uint64_t{id.ordinal},
                                uint64_t{id.label}, uint64_t{id.file}, uint64_t{id.line}}) {
      hash = (hash ^ part) * 0x100000001b3;
    }
    return hash ^ hash >> 32;
  }
};

struct RankSums {
  double busy_ns = 0;
  double cpu_ns = 0;
  double chunks = 0;
  double iterations = 0;
  double migrations = 0;
  std::set<uint32_t> cpus;
};

// A mean over the calls, unless one of them has no figure.
struct Mean {
  double sum = 0;
  uint64_t missing = 0;
  Missing why;

  void Add(const Metric<double>& value) {
    if (value) {
      sum += *value;
    } else if (missing++ == 0) {
      why = value.missing();
    }
  }
  [[nodiscard]] Metric<double> Of(uint64_t calls) const {
    if (missing == 0) return Bounded(sum / static_cast<double>(calls));
    if (missing == calls) return why;
    return Missing{why.status, fmt::format("{} of {} calls{}{}", missing, calls,
                                           why.hint.empty() ? "" : ": ", why.hint)};
  }
};

// What the calls of one row add up to.
class RowSums {
 public:
  RegionRow row;

  void Add(const RunRegions& regions, const FoundRegion& found) {
    const Region& facts = regions.Facts(found);
    const double wall_ns = regions.WallNs(found);
    ++row.calls;
    iterations_ += NotNegative(facts.iterations);
    grain_ += NotNegative(facts.grain);
    requested_ += NotNegative(facts.requested);
    admitted_ += NotNegative(facts.admitted);
    room_ns_ += wall_ns * NotNegative(facts.admitted);
    walls_.push_back(wall_ns);
    // While it ran on its thread, others may have been busy in the region around it.
    const Missing in_outer{Status::kUnavailable, "part of the region that it ran in"};
    serial_.Add(found.nested ? Metric<double>(in_outer) : SerialNs(regions, found));
    const auto missing = NoParticipants(facts);
    observed_.Add(missing ? Metric<double>(*missing) : Metric<double>(NotNegative(facts.observed)));
    const Metric<double> busy_ns = BusyNs(regions, found);
    busy_.Add(busy_ns);
    idle_.Add(found.nested ? Metric<double>(in_outer)
              : busy_ns
                  ? Metric<double>(std::max(0.0, NotNegative(facts.requested) * wall_ns - *busy_ns))
                  : busy_ns);
    AddProcessCpu(facts);
    if (!missing) AddParts(regions, found);
  }

  RegionRow Finish(uint64_t runs, double tick_ns, std::span<const profile::CoreType> core_types) {
    const auto calls = static_cast<double>(row.calls);
    row.calls_per_run = calls / static_cast<double>(runs);
    row.iterations = iterations_ / calls;
    row.grain = grain_ / calls;
    row.requested = requested_ / calls;
    row.admitted = admitted_ / calls;
    row.observed = observed_.Of(row.calls);
    SetWall(tick_ns);
    row.idle_core_ns = idle_.Of(row.calls);
    row.serial_ns = serial_.Of(row.calls);
    SetShares(calls);
    SetRanks(calls, core_types);
    const Missing no_counters{Status::kNotRequested, "this version does not read counters"};
    for (Metric<double>* counter : {&row.cycles, &row.instructions, &row.llc_references,
                                    &row.llc_misses, &row.ipc, &row.llc_miss_rate}) {
      *counter = no_counters;
    }
    return std::move(row);
  }

 private:
  void AddProcessCpu(const Region& facts) {
    if (facts.process_cpu_status == Status::kValid) {
      process_cpu_.Add(static_cast<double>(facts.process_cpu_ns));
      return;
    }
    const char* hint = "";
    if (facts.process_cpu_status == Status::kNotRequested) hint = kHowToSeeCpu;
    if (facts.process_cpu_status == Status::kBelowResolution) {
      hint = "too short for the process's CPU clock";
    }
    process_cpu_.Add(Missing{facts.process_cpu_status, hint});
  }

  void AddParts(const RunRegions& regions, const FoundRegion& found) {
    struct Part {
      double busy_ns = 0;
      const profile::RegionPart* facts = nullptr;
    };
    std::vector<Part> parts;
    double sum_ns = 0;
    for (const uint32_t slice : regions.PartsOf(found)) {
      const BusyInterval busy = regions.Busy(found, slice);
      parts.push_back(
          {static_cast<double>(busy.end_ns - busy.start_ns), &regions.PartFacts(slice)});
      sum_ns += parts.back().busy_ns;
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.busy_ns > b.busy_ns; });
    if (parts.size() >= 2 && sum_ns > 0) {
      imbalance_ += parts.front().busy_ns * static_cast<double>(parts.size()) / sum_ns;
      ++balanced_calls_;
    }
    if (ranks_.size() < parts.size()) ranks_.resize(parts.size());
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      const profile::RegionPart& facts = *parts[rank].facts;
      RankSums& sums = ranks_[rank];
      sums.busy_ns += parts[rank].busy_ns;
      sums.chunks += facts.chunks;
      sums.iterations += static_cast<double>(facts.iterations);
      sums.migrations += facts.migrations;
      for (const int32_t cpu : {facts.first_cpu, facts.last_cpu}) {
        if (cpu >= 0) sums.cpus.insert(static_cast<uint32_t>(cpu));
      }
      if (facts.cpu_status == Status::kValid) {
        sums.cpu_ns += static_cast<double>(facts.cpu_ns);
      } else if (!no_cpu_) {
        no_cpu_ = Missing{facts.cpu_status, WhyNoCpu(facts.cpu_status)};
      }
      iterations_hidden_ = iterations_hidden_ || (facts.iterations == 0 && facts.chunks != 0);
    }
  }

  void SetWall(double tick_ns) {
    double sum_ns = 0;
    for (const double wall_ns : walls_) sum_ns += wall_ns;
    wall_ns_ = sum_ns / static_cast<double>(row.calls);
    row.wall_ns = wall_ns_;
    row.p50_ns = walls_.size() >= 2
                     ? Metric<double>(Quantile(Sorted(walls_), 0.5))
                     : Metric<double>(Status::kTooFewSamples, "needs 2 calls, has 1");
    if (IsBelow(wall_ns_, tick_ns)) row.wall_ns = row.p50_ns = BelowClock(wall_ns_, tick_ns);
  }

  // Ratios of sums: a mean of ratios would weigh the shortest calls most.
  void SetShares(double calls) {
    const auto per_room = [&](const Metric<double>& part_ns) -> Metric<double> {
      if (!part_ns) return part_ns;
      if (admitted_ == 0) return Missing{Status::kUnavailable, "no thread was let in"};
      if (room_ns_ <= 0) return Missing{Status::kBelowResolution, "it took no time"};
      return Bounded(*part_ns * calls / room_ns_);
    };
    row.process_cpu_ns = process_cpu_.Of(row.calls);
    row.cpu_utilization = per_room(row.process_cpu_ns);
    row.busy_utilization = per_room(busy_.Of(row.calls));
    row.imbalance = balanced_calls_ != 0
                        ? Metric<double>(imbalance_ / static_cast<double>(balanced_calls_))
                        : Metric<double>(Status::kUnavailable, "fewer than two threads took part");
    if (const Metric<double> busy = busy_.Of(row.calls); !busy) row.imbalance = busy;
  }

  void SetRanks(double calls, std::span<const profile::CoreType> core_types) {
    const Metric<double> busy = busy_.Of(row.calls);
    if (!busy) {
      row.busy_ns = busy.missing();
      row.worker_cpu_ns = busy.missing();
      return;
    }
    std::vector<double> busy_ns;
    std::vector<double> cpu_ns;
    for (const RankSums& rank : ranks_) {
      busy_ns.push_back(rank.busy_ns / calls);
      cpu_ns.push_back(rank.cpu_ns / calls);
      profile::RegionRank shown;
      shown.chunks = rank.chunks / calls;
      shown.iterations = iterations_hidden_
                             ? Metric<double>(Status::kUnavailable, "the pool does not tell")
                             : Metric<double>(rank.iterations / calls);
      shown.migrations = rank.migrations / calls;
      shown.cpus.assign(rank.cpus.begin(), rank.cpus.end());
      shown.core_type = CoreTypeOf(shown.cpus, core_types);
      row.participants.push_back(std::move(shown));
    }
    row.busy_ns = std::move(busy_ns);
    if (ranks_.empty()) no_cpu_ = Missing{Status::kUnavailable, "no thread took part"};
    row.worker_cpu_ns = no_cpu_ ? Metric<std::vector<double>>(*no_cpu_)
                                : Metric<std::vector<double>>(std::move(cpu_ns));
  }

  static std::string CoreTypeOf(const std::vector<uint32_t>& cpus,
                                std::span<const profile::CoreType> core_types) {
    if (core_types.size() < 2) return "";
    std::string text;
    for (const profile::CoreType& type : core_types) {
      const bool seen = std::any_of(cpus.begin(), cpus.end(), [&](uint32_t cpu) {
        return std::binary_search(type.cpus.begin(), type.cpus.end(), cpu);
      });
      if (seen) text += (text.empty() ? "" : ", ") + type.name;
    }
    return text;
  }

  double iterations_ = 0;
  double grain_ = 0;
  double requested_ = 0;
  double admitted_ = 0;
  double room_ns_ = 0;  // wall x admitted
  double wall_ns_ = 0;
  std::vector<double> walls_;
  Mean observed_, busy_, idle_, serial_, process_cpu_;
  double imbalance_ = 0;
  uint64_t balanced_calls_ = 0;
  std::vector<RankSums> ranks_;
  std::optional<Missing> no_cpu_;
  bool iterations_hidden_ = false;
};

std::string WhereOf(const RegionRow& row, std::string_view label) {
  if (!label.empty()) return std::string(label);
  if (!row.file.empty()) {
    const std::string place =
        fmt::format("{}:{}", row.file.substr(row.file.find_last_of("/\\") + 1), row.line);
    return row.function.empty() ? place : place + " " + row.function;
  }
  return row.code.empty() ? "(unnamed)" : row.code;
}

class RowFinder {
 public:
  RowFinder(const Profile& profile, const RunRegions& regions)
      : profile_(profile), regions_(regions) {}

  void AddRun(const RunRegions::OfRun& run) {
    std::unordered_map<uint32_t, uint32_t> ordinals;
    std::vector<uint32_t> row_of(run.regions.size(), kNone);
    uint32_t index = 0;
    for (uint32_t i = 0; i < run.regions.size(); ++i) {
      const FoundRegion& found = run.regions[i];
      if (found.nested) continue;
      RowId id = IdOf(found);
      id.ordinal = ordinals[found.op]++;
      row_of[i] = Find(id, found);
      RegionRow& row = rows_[row_of[i]].row;
      ++index;
      if (row.calls == 0) row.index = index;
      rows_[row_of[i]].Add(regions_, found);
    }
    for (const FoundRegion& found : run.regions) {
      if (!found.nested) continue;
      const Region& facts = regions_.Facts(found);
      RowId id = IdOf(found);
      id.file = facts.file;
      id.line = facts.line;
      id.outer = found.outer == kNone ? kNone : row_of[found.outer];
      const uint32_t at = Find(id, found);
      rows_[at].row.nested_inline = facts.nested_inline;
      if (id.outer != kNone) {
        rows_[at].row.index = rows_[id.outer].row.index;
        rows_[at].row.parent = rows_[at].row.index;
      }
      rows_[at].Add(regions_, found);
    }
  }

  std::vector<RegionRow> Finish(uint64_t runs, std::span<const profile::CoreType> core_types) {
    std::vector<RegionRow> finished;
    finished.reserve(rows_.size());
    for (RowSums& sums : rows_) {
      finished.push_back(sums.Finish(runs, profile_.clock.tick_ns, core_types));
    }
    return finished;
  }

 private:
  [[nodiscard]] RowId IdOf(const FoundRegion& found) const {
    RowId id;
    id.op = found.op;
    id.label = profile_.slices[found.slice].name;
    return id;
  }

  [[nodiscard]] std::string Text(uint32_t id) const {
    return id < profile_.strings.size() ? std::string(profile_.strings.Get(id)) : std::string();
  }

  uint32_t Find(const RowId& id, const FoundRegion& found) {
    const auto [at, is_new] = index_.emplace(id, static_cast<uint32_t>(rows_.size()));
    if (is_new) {
      const Region& facts = regions_.Facts(found);
      RegionRow& row = rows_.emplace_back().row;
      row.file = Text(facts.file);
      row.function = Text(facts.function);
      row.line = row.file.empty() ? 0 : facts.line;
      row.code = Text(facts.code);
      row.where = WhereOf(row, Text(profile_.slices[found.slice].name));
      if (found.op != kNone) row.op = found.op;
    }
    return at->second;
  }

  const Profile& profile_;
  const RunRegions& regions_;
  std::vector<RowSums> rows_;
  std::unordered_map<RowId, uint32_t, RowIdHash> index_;
};

}  // namespace

Metric<double> Bounded(double value) {
  if (std::isfinite(value) && std::fabs(value) <= profile::kLargestFigure) return value;
  return Missing{Status::kOverflow, "larger than a result may hold"};
}

Metric<double> BusyNs(const RunRegions& regions, const FoundRegion& region) {
  if (const auto missing = NoParticipants(regions.Facts(region))) return *missing;
  double sum_ns = 0;
  for (const uint32_t slice : regions.PartsOf(region)) {
    const BusyInterval busy = regions.Busy(region, slice);
    sum_ns += static_cast<double>(busy.end_ns - busy.start_ns);
  }
  return sum_ns;
}

Metric<double> SerialNs(const RunRegions& regions, const FoundRegion& region) {
  const double wall_ns = regions.WallNs(region);
  if (regions.Facts(region).admitted <= 1) return wall_ns;  // whoever it was, it was one
  if (const auto missing = NoParticipants(regions.Facts(region))) return *missing;
  std::vector<BusyInterval> busy;
  for (const uint32_t slice : regions.PartsOf(region)) busy.push_back(regions.Busy(region, slice));
  return std::max(0.0, wall_ns - TwoBusyNs(busy));
}

std::vector<RegionRow> RegionRows(const Profile& profile, const RunRegions& regions,
                                  std::span<const profile::CoreType> core_types) {
  RowFinder finder(profile, regions);
  for (const RunRegions::OfRun& run : regions.runs()) finder.AddRun(run);
  std::vector<RegionRow> rows =
      finder.Finish(std::max<uint64_t>(regions.runs().size(), 1), core_types);
  const auto badness = [](const RegionRow& row) {
    const auto of = [&](const Metric<double>& ns) { return ns ? *ns * row.calls_per_run : -1.0; };
    return std::pair(of(row.idle_core_ns), of(row.serial_ns));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const RegionRow& a, const RegionRow& b) {
    const auto bad_a = badness(a);
    const auto bad_b = badness(b);
    return bad_a != bad_b ? bad_a > bad_b : a.index < b.index;
  });
  return rows;
}

}  // namespace inferprobe::analyze
