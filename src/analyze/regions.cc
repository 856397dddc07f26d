#include "analyze/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyze/region_rows.h"
#include "analyze/run_regions.h"

namespace inferprobe::analyze {
namespace {

using profile::Metric;
using profile::Missing;
using profile::OpRow;
using profile::PerfResult;
using profile::Profile;
using profile::Region;
using profile::RegionOperator;
using profile::RegionReport;
using profile::RowType;
using profile::Status;

// What the regions of one operator, or of all, add up to over the runs.
struct Sums {
  uint64_t regions = 0;
  double wall_ns = 0;
  double busy_ns = 0;
  double room_ns = 0;  // requested x wall
  double idle_ns = 0;
  double two_busy_ns = 0;
  int32_t requested = 0;  // the most
  std::optional<Missing> no_busy;
  std::optional<Missing> no_two_busy;

  // One inside another is part of that one: only who was busy beside whom may hang on it.
  void Add(const RunRegions& regions_of, const FoundRegion& found) {
    if (!found.nested) AddOutermost(regions_of, found);
    if (const Metric<double> serial = SerialNs(regions_of, found); !serial && !no_two_busy) {
      no_two_busy = serial.missing();
    }
  }

 private:
  void AddOutermost(const RunRegions& regions_of, const FoundRegion& found) {
    const double wall = regions_of.WallNs(found);
    const int32_t asked = std::max(regions_of.Facts(found).requested, 0);
    ++regions;
    wall_ns += wall;
    room_ns += asked * wall;
    requested = std::max(requested, asked);
    if (const Metric<double> busy = BusyNs(regions_of, found)) {
      busy_ns += *busy;
      idle_ns += std::max(0.0, asked * wall - *busy);
    } else if (!no_busy) {
      no_busy = busy.missing();
    }
  }
};

Metric<double> Share(double part_ns, double whole_ns) {
  if (whole_ns > 0) return Bounded(part_ns / whole_ns);
  return Missing{Status::kBelowResolution, "the whole took no time"};
}

class Report {
 public:
  Report(const Profile& profile, const PerfResult& result, const RegionOptions& options)
      : profile_(profile), result_(result), options_(options), regions_(profile, result.ops) {}

  Metric<RegionReport> Make() {
    uint64_t all = 0;
    for (const profile::Run& run : profile_.runs) all += profile::GivesRows(run.mode) ? 1 : 0;
    if (options_.detail.empty() && profile_.regions.empty()) {
      return Missing{Status::kNotRequested, "no parallel region was recorded: perf --regions"};
    }
    if (all == 0) return Missing{Status::kNotMeasured, "no profiled run"};
    if (regions_.runs().empty()) {
      return Missing{Status::kUnavailable, "no run is whole, each lost events"};
    }
    report_.runs = regions_.runs().size();
    report_.detail = Detail();
    report_.dropped = profile_.losses.Get(profile::Loss::kRegionsDropped);
    report_.rows = RegionRows(profile_, regions_, options_.core_types);
    CountPerInference();
    FindHidden();
    AddUp();
    SetThreads();
    for (const OpRow& op : result_.ops) AddOperator(op);
    SetRun();
    if (report_.dropped > 0) TakeBackSums();
    return std::move(report_);
  }

 private:
  [[nodiscard]] double Runs() const { return static_cast<double>(report_.runs); }

  [[nodiscard]] std::string Detail() const {
    if (!options_.detail.empty()) return options_.detail;
    std::string detail = "wall";
    for (const Region& region : profile_.regions) {
      if (region.process_cpu_status != Status::kNotRequested) return "cpu";
      if (region.participants_status != Status::kNotRequested) detail = "busy";
    }
    return detail;
  }

  void CountPerInference() {
    int64_t least = INT64_MAX;
    int64_t most = 0;
    int64_t all = 0;
    for (const RunRegions::OfRun& run : regions_.runs()) {
      const int64_t count = std::count_if(run.regions.begin(), run.regions.end(),
                                          [](const FoundRegion& found) { return !found.nested; });
      least = std::min(least, count);
      most = std::max(most, count);
      all += count;
    }
    report_.mean_per_inference = static_cast<double>(all) / Runs();
    report_.per_inference =
        least == most ? Metric<int64_t>(most)
                      : Metric<int64_t>(Status::kUnavailable,
                                        fmt::format("runs differ: {} to {} regions", least, most));
  }

  [[nodiscard]] std::unordered_set<uint32_t> OpsWithRegions() const {
    std::unordered_set<uint32_t> ops;
    for (const RunRegions::OfRun& run : regions_.runs()) {
      for (const FoundRegion& found : run.regions) ops.insert(found.op);
    }
    return ops;
  }

  // Operators that hide their threads, and how long they took.
  void FindHidden() {
    std::unordered_map<uint32_t, std::string> backend_of;  // by row
    for (const profile::DelegateResult& delegate : result_.delegates) {
      const bool known = delegate.op < result_.ops.size() && result_.ops[delegate.op].delegate;
      backend_of.emplace(delegate.op, known ? delegate.backend : std::string());
    }
    const std::unordered_set<uint32_t> with_regions = OpsWithRegions();
    std::unordered_map<std::string, size_t> shown;
    for (const OpRow& op : result_.ops) {
      const auto found = backend_of.find(op.id);
      if (found == backend_of.end() && op.type != RowType::kDelegateCall) continue;
      const std::string backend = found == backend_of.end() ? std::string() : found->second;
      std::string why = WhyNotObservable(backend);
      if (why.empty()) continue;
      // A recording names no backend; its loops were seen.
      if (backend.empty() && with_regions.contains(op.id)) continue;
      hidden_.emplace(op.id, why);
      const double wall_ns = static_cast<double>(std::max<int64_t>(op.total_ns, 0)) / Runs();
      hidden_ns_ += wall_ns;
      const std::string what = backend.empty() ? op.name : backend;
      const auto [at, is_new] = shown.emplace(what, report_.not_observable.size());
      if (is_new) report_.not_observable.push_back({what, std::move(why), 0});
      report_.not_observable[at->second].wall_ns += wall_ns;
    }
  }

  void AddUp() {
    for (const RunRegions::OfRun& run : regions_.runs()) {
      std::unordered_map<uint32_t, std::vector<BusyInterval>> busy_of;
      std::vector<BusyInterval> busy;
      for (const FoundRegion& found : run.regions) {
        // Inline its thread is busy anyway. Another executor's loop has threads of its own.
        if (found.nested && regions_.Facts(found).nested_inline) continue;
        of_op_[found.op].Add(regions_, found);
        all_.Add(regions_, found);
        if (hidden_.contains(found.op)) continue;
        visible_.Add(regions_, found);
        for (const uint32_t part : regions_.PartsOf(found)) {
          busy_of[found.op].push_back(regions_.Busy(found, part));
          busy.push_back(busy_of[found.op].back());
        }
      }
      visible_.two_busy_ns += TwoBusyNs(busy);
      for (const auto& [op, intervals] : busy_of) {
        of_op_[op].two_busy_ns += TwoBusyNs(intervals);
      }
      run_ns_ += static_cast<double>(std::max<int64_t>(profile_.runs[run.run].dur_ns, 0));
    }
  }

  void SetThreads() {
    if (all_.requested > 0) {
      report_.threads = int64_t{all_.requested};
    } else if (result_.engine.threads && *result_.engine.threads > 0) {
      report_.threads = result_.engine.threads;
    } else {
      report_.threads = {Status::kUnavailable, "no region asked for threads"};
    }
  }

  void AddOperator(const OpRow& op) {
    if (op.type != RowType::kOperatorCall && op.type != RowType::kDelegateCall) return;
    const auto found = of_op_.find(op.id);
    const Sums none;
    const Sums& sums = found == of_op_.end() ? none : found->second;
    RegionOperator shown;
    shown.op = op.id;
    shown.regions_per_run = static_cast<double>(sums.regions) / Runs();
    shown.in_regions_ns = sums.wall_ns / Runs();
    shown.requested = sums.requested;
    if (sums.requested == 0 && report_.threads) {
      shown.requested = static_cast<double>(*report_.threads);
    }
    shown.wall_ns = op.mean_ns;
    const auto all_missing = [&](const Missing& why) {
      shown.efficiency = shown.serial_ns = shown.idle_core_ns = why;
    };
    if (const auto hidden = hidden_.find(op.id); hidden != hidden_.end()) {
      all_missing({Status::kUnsupported, hidden->second});
    } else if (!op.mean_ns) {
      all_missing(op.mean_ns.missing());
    } else {
      SetFigures(sums, static_cast<double>(op.total_ns), shown.requested, &shown.efficiency,
                 &shown.serial_ns, &shown.idle_core_ns);
    }
    report_.operators.push_back(std::move(shown));
  }

  // Outside of its regions the calling thread works alone.
  void SetFigures(const Sums& sums, double wall_ns, double threads, Metric<double>* efficiency,
                  Metric<double>* serial_ns, Metric<double>* idle_ns) const {
    if (sums.no_two_busy) {
      *serial_ns = *sums.no_two_busy;
    } else {
      *serial_ns = Bounded(std::max(0.0, wall_ns - sums.two_busy_ns) / Runs());
    }
    if (sums.no_busy) {
      *efficiency = *idle_ns = *sums.no_busy;
      return;
    }
    if (threads <= 0) {
      *efficiency = *idle_ns = Missing{Status::kUnavailable, "the pool's threads are not known"};
      return;
    }
    const double busy_ns = sums.busy_ns + std::max(0.0, wall_ns - sums.wall_ns);
    *efficiency = Share(busy_ns, threads * wall_ns);
    *idle_ns = Bounded(std::max(0.0, threads * wall_ns - busy_ns) / Runs());
  }

  void SetRun() {
    report_.wall_ns = Bounded(all_.wall_ns / Runs());
    if (all_.no_busy) {
      report_.busy_ns = report_.efficiency = report_.idle_core_ns = *all_.no_busy;
    } else {
      report_.busy_ns = Bounded(all_.busy_ns / Runs());
      report_.efficiency = all_.regions == 0 ? Metric<double>(Status::kUnavailable, "no region ran")
                                             : Share(all_.busy_ns, all_.room_ns);
      report_.idle_core_ns = Bounded(all_.idle_ns / Runs());
    }
    const double observable_ns = std::max(0.0, run_ns_ - hidden_ns_ * Runs());
    report_.observable_ns = Bounded(observable_ns / Runs());
    const double threads = report_.threads ? static_cast<double>(*report_.threads) : 0;
    Metric<double> idle_ns;
    SetFigures(visible_, observable_ns, threads, &report_.run_efficiency, &report_.serial_ns,
               &idle_ns);
    report_.serial_share =
        report_.serial_ns ? Share(*report_.serial_ns * Runs(), run_ns_) : report_.serial_ns;
    if (observable_ns <= 0 && !hidden_.empty()) {
      report_.run_efficiency = report_.serial_ns = report_.serial_share =
          Missing{Status::kUnsupported, "nothing of the run is observable"};
    }
    report_.process_cpu_ns = {Status::kNotMeasured, "only perf measures it"};
  }

  // Each row is still true; what is added up over regions lacks those that were lost.
  void TakeBackSums() {
    const Missing lost{Status::kOverflow,
                       fmt::format("{} regions found no place in the collector", report_.dropped)};
    report_.per_inference = lost;
    report_.wall_ns = report_.busy_ns = report_.efficiency = report_.idle_core_ns = lost;
    report_.run_efficiency = report_.serial_ns = report_.serial_share = lost;
    for (RegionOperator& each : report_.operators) {
      each.efficiency = each.serial_ns = each.idle_core_ns = lost;
    }
  }

  const Profile& profile_;
  const PerfResult& result_;
  const RegionOptions& options_;
  RunRegions regions_;
  RegionReport report_;
  std::unordered_map<uint32_t, std::string> hidden_;  // rows, and why
  double hidden_ns_ = 0;                              // per run
  std::unordered_map<uint32_t, Sums> of_op_;
  Sums all_;
  Sums visible_;
  double run_ns_ = 0;
};

}  // namespace

std::string WhyNotObservable(std::string_view backend) {
  // Its pool is ExecuTorch's, whose every loop passes our hooks.
  if (backend.starts_with("Xnnpack")) return "";
  if (backend.empty()) return "which delegate this is, is not known";
  if (backend.starts_with("Openvino")) return "its threads are oneTBB's, which hides its loops";
  return "its threads are its own: of delegates, only XNNPACK's loops are seen";
}

Metric<RegionReport> AnalyzeRegions(const Profile& profile, const PerfResult& result,
                                    const RegionOptions& options) {
  return Report(profile, result, options).Make();
}

}  // namespace inferprobe::analyze
