// What one measurement says about its parallel regions: which loop left cores idle, and which parts
// ran on one thread. analyze/regions.h fills it; docs/measure/parallel.md has every formula.
//
// The rule that people break: idle core-time is an upper bound of what a better split could win,
// and no saving. A region that ran inline in another is part of that one, and in no sum beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/metric.h"

namespace inferprobe::profile {

// The participants of one rank: the busiest of each time the region ran, the second busiest, ...
// Means over the times that it ran.
struct RegionRank {
  double chunks = 0;
  Metric<double> iterations;   // the pool may not tell
  double migrations = 0;       // seen from chunk to chunk: a lower bound
  std::vector<uint32_t> cpus;  // seen at first and last chunks, ascending
  std::string core_type;       // "performance"; "performance, efficient"; "": all are alike
};

struct RegionRow {
  std::string where;     // label, else "file:line function", else the code
  std::string file;      // of the call; "": the runtime does not tell
  std::string function;  // the same
  uint32_t line = 0;
  std::string code;            // "libx.so+0x12" of the loop's body; ""
  std::optional<uint32_t> op;  // id of the OpRow that it ran in
  uint32_t index = 0;          // of the inference's regions, from 1; of a nested one: its parent's
  std::optional<uint32_t> parent;  // `index` of the region that it ran in
  bool nested_inline = false;
  uint64_t calls = 0;  // in all runs
  double calls_per_run = 0;

  // Means over the calls; whole numbers where all were alike.
  double iterations = 0;
  double grain = 0;
  double requested = 0;
  double admitted = 0;
  Metric<double> observed;
  Metric<double> wall_ns;                // of a call
  Metric<double> p50_ns;                 // of a call
  Metric<std::vector<double>> busy_ns;   // by rank: the most busy first
  std::vector<RegionRank> participants;  // as long as busy_ns
  Metric<double> idle_core_ns;           // requested x wall - sum of busy: an upper bound
  Metric<double> serial_ns;              // of the wall, when fewer than two were busy
  Metric<double> busy_utilization;       // sum of busy / (wall x admitted)
  Metric<double> process_cpu_ns;
  Metric<double> cpu_utilization;             // process CPU / (wall x admitted)
  Metric<std::vector<double>> worker_cpu_ns;  // by the same rank
  Metric<double> imbalance;                   // longest / mean busy time
  Metric<double> cycles, instructions, llc_references, llc_misses, ipc, llc_miss_rate;
};

// An instruction of the program: what its regions did, and what of it ran on one thread.
struct RegionOperator {
  uint32_t op = 0;  // id of the OpRow
  double regions_per_run = 0;
  double requested = 0;    // the most that one of its regions asked for; else the pool's threads
  Metric<double> wall_ns;  // mean per run, as everything here
  double in_regions_ns = 0;
  // (busy in its regions + its wall outside of them, on the calling thread) / (requested x wall)
  Metric<double> efficiency;
  Metric<double> serial_ns;     // its wall without the time in which two or more were busy
  Metric<double> idle_core_ns;  // requested x wall - busy: an upper bound
};

// What hides its threads: about it nothing is claimed.
struct NotObservable {
  std::string what;  // "OpenvinoBackend"
  std::string why;
  double wall_ns = 0;  // mean per run
};

struct RegionReport {
  std::string detail;             // "wall", "busy" or "cpu"
  Metric<int64_t> threads;        // of the pool
  uint64_t runs = 0;              // that are counted
  Metric<int64_t> per_inference;  // outermost ones; missing where runs differ
  double mean_per_inference = 0;
  uint64_t dropped = 0;
  std::vector<RegionRow> rows;            // worst first: idle core time, then serial time
  std::vector<RegionOperator> operators;  // in program order
  std::vector<NotObservable> not_observable;

  // Per run.
  Metric<double> wall_ns;       // in regions
  Metric<double> busy_ns;       // of all participants
  Metric<double> efficiency;    // busy / (requested x wall in regions)
  Metric<double> idle_core_ns;  // in regions: an upper bound
  // Of the part of the run that is observable.
  Metric<double> observable_ns;
  Metric<double> run_efficiency;  // (busy + wall outside of regions) / (threads x observable)
  Metric<double> serial_ns;       // observable without the time in which two or more were busy
  Metric<double> serial_share;    // of the run
  Metric<double> process_cpu_ns;  // of an inference, profiling off
};

}  // namespace inferprobe::profile
