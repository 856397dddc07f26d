// What one `perf` measured, after analysis: the content of the result JSON and of the tables.
// Plain data; analyze/ fills it, report/ and formats/result_json print it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inferprobe/result.h"
#include "profile/facts.h"
#include "profile/loss.h"
#include "profile/metric.h"
#include "profile/model.h"
#include "profile/modules.h"
#include "profile/region_report.h"
#include "profile/source.h"

namespace inferprobe::profile {

// An interval at 95 %. `open_above`: the sample is too small for an upper bound.
struct Interval {
  double low = 0;
  double high = 0;
  bool open_above = false;
};

struct Percentile {
  double p = 0;  // 0.5, 0.9, ...
  Metric<double> value;
  Metric<Interval> interval;
};

// Host wall, profiling off, in ms. Over all processes.
struct Latency {
  uint64_t count = 0;
  Metric<double> avg, std, min, max;
  Metric<Interval> avg_interval;                // over process means where there are several
  std::vector<Percentile> percentiles;          // p50, p90, p95, p99, p999
  std::vector<std::vector<double>> samples_ms;  // one list per process, in run order
  Metric<double> rate_single_stream_per_s;
};

struct WarmUp {
  uint64_t requested = 0;  // --warmup
  uint64_t excluded = 0;   // in all, per process at most
  std::string rule;        // "count" or "change point"
  Metric<bool> steady;     // false: still drifting at the end
  // Runs behind the requested warm-up before the last change point; 0: steady from the start. They
  // are excluded where `rule` is "change point", and among the samples where it is "count".
  Metric<int64_t> steady_after;
  std::vector<std::vector<double>> samples_ms;  // per process
};

// Profiling on against off, interleaved; ratios of medians of pairs.
struct Perturbation {
  Metric<double> profiled_p50_ms;
  Metric<double> unprofiled_p50_ms;
  Metric<double> ratio;  // on / off
  Metric<Interval> interval;
  Metric<double> null_ratio;  // off / off
  Metric<Interval> null_interval;
  uint64_t pairs = 0;
};

enum class RowType : uint8_t {
  kMethod,
  kSetInputs,
  kOperatorCall,
  kKernel,
  kDelegateCall,
  kDelegateOp,  // engine-reported: never added to host-wall rows
  kScope,
  kModule,    // calls of a PyTorch module
  kOperator,  // of a framework: "aten::conv2d"
  kOther,
  kBetween,       // inside the method, in no instruction
  kUnattributed,  // in the run, in nothing else
};
const char* RowTypeName(RowType type);

// One row of "where the time goes", in program order; children follow their parent.
struct OpRow {
  uint32_t id = 0;
  uint32_t parent = kNone;  // id of the parent row
  uint32_t depth = 0;
  RowType type = RowType::kOther;
  Kind kind = Kind::kHostWall;
  std::string name;
  Metric<int64_t> instruction;
  double calls_per_run = 0;
  uint64_t calls = 0;
  int64_t total_ns = 0;    // over all profiled runs
  int64_t self_ns = 0;     // of which in no host-wall child row; 0 for the root: its own time
                           // has rows (between instructions, unattributed)
  Metric<double> mean_ns;  // per run; below_resolution when a call takes under ten ticks
  Metric<double> p50_ns;   // of per-run totals
  Metric<double> share;    // of the run; for engine-reported rows: of the call
  // The engine's clock has a tick that nobody knows: total_ns is 0, and mean_ns and p50_ns say so.
  bool in_ticks = false;
  int64_t total_ticks = 0;
  Metric<double> probe_cost_ns;  // per run; derived: events x calibrated cost
  Metric<uint32_t> delegate;     // index into ModelFacts::delegates
  Metric<std::string> module_path;
};

// A part of a delegate's calls on the host.
struct PhaseRow {
  std::string name;  // "openvino.enqueue_host"
  Kind kind = Kind::kHostWall;
  double calls_per_run = 0;
  uint64_t calls = 0;
  int64_t total_ns = 0;    // over all profiled runs
  Metric<double> mean_ns;  // per run
  Metric<double> p50_ns;   // of per-run totals
  Metric<double> share;    // of the delegate's call
};

// What a device took for the calls, by its own clock.
struct DeviceTime {
  std::string clock;        // "cuda event"
  Metric<double> mean_ns;   // per run, of the calls that have a result
  uint64_t calls = 0;       // that have one, whenever it came
  uint64_t missing = 0;     // that have none
  std::string missing_why;  // as the delegate said it, of one of them; "": it did not say
};

struct DelegateResult {
  // A coverage outside of these is a warning.
  static constexpr double kCoverageLow = 0.90;
  static constexpr double kCoverageHigh = 1.05;

  uint32_t id = 0;  // index into ModelFacts::delegates where that is known
  uint32_t op = 0;  // id of the delegate call's row
  std::string backend;
  std::string engine_id;
  double calls_per_run = 0;
  double host_ns = 0;           // mean per run
  uint32_t whole_call = kNone;  // id of the row of the delegate's own whole-call event
  CallMode mode = CallMode::kUnknown;
  Metric<std::vector<PhaseRow>> phases;
  std::optional<DeviceTime> device;  // of engines whose calls have device durations
  // Sum of its own operators / host call; below_resolution: rounding explains what is amiss.
  bool within_rounding = false;  // the coverage is odd, and whole units explain it
  Metric<double> layer_coverage;
  Metric<int64_t> resolution_ns;  // largest unit of which all its reported times are multiples
  // The layers' times were computed from the engine's running mean: how far the mean of each may be
  // off, per run. Their means are over all recorded calls from the first profiled one to the last.
  std::optional<Metric<double>> layer_error_ns;
  std::vector<OpRow> layers;  // engine-reported, in the engine's order
};

// The run's host wall time, split at the borders of delegates. Means per run; they add up to it.
struct DelegateSummary {
  Metric<double> delegates_ns;     // in delegate calls
  Metric<double> kernels_ns;       // in instructions that call a kernel
  Metric<double> between_ns;       // in the method, in no instruction
  Metric<double> other_ns;         // in scopes, in setting inputs, in other events of the engine
  Metric<double> unattributed_ns;  // in the run, in nothing else
};

// Why the machine was not quiet. `runs` are indices into the latency samples of `process`.
struct Disturbance {
  std::string kind;  // "run_queue_delay", "major_faults", "steal", "throttled", ...
  std::string text;  // for people, with advice
  uint16_t process = 0;
  std::vector<uint32_t> runs;
  Metric<int64_t> ns;    // where it is a time
  Metric<double> value;  // where it is something else
  std::string unit;
  bool warning = false;
};

struct OutputCheck {
  enum class Verdict : uint8_t { kUnchecked, kMatch, kMismatch };
  Verdict verdict = Verdict::kUnchecked;  // against a bundled program's expected outputs
  Metric<double> max_abs_error;
  std::string text;
  Metric<bool> profiled_equal;      // outputs with profiling on equal those without, bit for bit
  Metric<bool> repeatable;          // two plain runs gave equal bits
  std::vector<std::string> sha256;  // of each output, as hex
};

struct ProcessResult {
  uint16_t index = 0;
  int64_t pid = 0;
  Metric<double> load_ms;
  Metric<double> first_run_ms;
  uint64_t latency_runs = 0;
  uint64_t profiled_runs = 0;
  std::string failure;  // "" or what killed it
};

struct Settings {
  Metric<int64_t> iterations;  // as fixed by --iterations
  Metric<double> duration_s;
  uint64_t warmup = 0;
  uint64_t processes = 1;
  Metric<int64_t> threads;
  uint64_t seed = 0;
  std::string level;
  std::string method;
};

// Slices of one name inside the same others, on one track: for recordings without a run.
struct SliceRow {
  uint32_t id = 0;
  uint32_t parent = kNone;  // id of the row of what encloses them
  uint32_t depth = 0;
  std::string track;
  std::string name;
  Kind kind = Kind::kHostWall;
  uint64_t calls = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;  // of which in no row below this one
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  Metric<double> mean_ns;  // of a call; below_resolution when that is under ten ticks
};

// A layer of a file that has sums of calls, and not the calls (profile/sum_note.h).
struct SumRow {
  std::string track;
  std::string name;  // may repeat
  Kind kind = Kind::kEngineReported;
  uint64_t calls = 0;  // 0: none, or the file does not tell
  int64_t total_ns = 0;
  Metric<double> mean_ns;  // of a call
  Metric<double> p50_ns;   // as the file says it
  Metric<double> share;    // of the sums of its track; of a phase: of the whole call
  // By how much the mean may be off, where that was computed from the engine's running mean.
  std::optional<int64_t> error_ns;
};

struct PerfResult {
  std::string tool_version;
  std::string run_id;
  std::string started_at;  // RFC 3339, UTC
  ModelFacts model;
  EngineFacts engine;
  EnvironmentFacts environment;
  ClockFacts clock;
  Settings settings;
  WarmUp warmup;
  Latency latency;
  Metric<double> load_ms;  // median over processes
  Metric<double> first_run_ms;
  Perturbation perturbation;
  std::vector<Disturbance> disturbances;
  MemoryFacts memory;
  std::vector<OpRow> ops;
  Metric<double> unattributed_ns;
  std::vector<DelegateResult> delegates;
  std::optional<DelegateSummary> delegate_summary;  // where there are delegates
  uint64_t profiled_runs = 0;
  double profiled_mean_ns = 0;
  OutputCheck outputs;
  std::vector<ProcessResult> processes;
  LossCounts losses;
  std::vector<Error> unwritten;  // outputs that were asked for and could not be written

  Metric<RegionReport> regions{Status::kNotRequested, "perf --regions"};
  Metric<ModuleReport> modules{Status::kUnsupported, "only models of PyTorch have modules"};

  // Of a recording that was read from a file; nullopt: measured just now.
  std::optional<SourceFacts> source;
  std::vector<SliceRow> slices;  // of a recording in which nothing is a run
  std::vector<SumRow> sums;      // of one that has sums
};

}  // namespace inferprobe::profile
