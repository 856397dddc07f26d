#include <cstdint>

#include "formats/result_json/sample_parts.h"

namespace inferprobe::result_json::samples {

using analyze::SyntheticProfile;
using profile::Loss;
using profile::PerfResult;
using profile::Status;

// As a reader of a file fills it: rows without a latency.
static PerfResult Recorded() {
  PerfResult result = Facts();
  result.settings = {};
  const profile::Missing recorded{Status::kNotMeasured, "recorded elsewhere, with profiling on"};
  result.latency.avg = recorded;
  result.load_ms = recorded;
  result.perturbation.ratio = recorded;
  return result;
}

// An ETDump of two blocks of equal runs and an empty one. An engine reported one operator outside
// of its delegate call.
PerfResult RecordedBlocks() {
  PerfResult result = Recorded();
  SyntheticProfile made;
  Jitter jitter;
  for (int run = 0; run < 4; ++run) {
    ProfiledRun(made, jitter, static_cast<uint32_t>(run + 1));
    if (run != 2) continue;
    made.BeginRun();
    made.Wait(900);
    made.Reported("stray <operator>", 500);
    made.EndRun();
  }
  Analyze(made, result);
  result.source = {.path = "dumps/vision.etdp",
                   .format = "etdump",
                   .title = "ETDump",
                   .bytes = 81'000,
                   .blocks = {{"Execute", 2, 14}, {"Execute", 1, 0}},
                   .packets = {},
                   .notes = {}};
  result.losses.Add(Loss::kEmptyBlock);
  return result;
}

// A foreign trace: tracks without a run, packets that nobody reads.
PerfResult RecordedSlices() {
  PerfResult result;
  result.tool_version = "0.1.0";
  result.source = {.path = "foreign.pftrace",
                   .format = "perfetto",
                   .title = "Perfetto",
                   .bytes = 123'456,
                   .blocks = {},
                   .packets = {{"ftrace_events", 1200}, {"field 999", 1}},
                   .notes = {"reading \"layers\" adds overhead"}};
  const auto add = [&](const char* name, uint32_t parent, uint64_t calls, int64_t total_ns,
                       int64_t self_ns) {
    profile::SliceRow row;
    row.id = static_cast<uint32_t>(result.slices.size());
    row.parent = parent;
    row.depth = parent == profile::kNone ? 0 : result.slices[parent].depth + 1;
    row.track = "main\t1";
    row.name = name;
    row.calls = calls;
    row.total_ns = total_ns;
    row.self_ns = self_ns;
    row.min_ns = total_ns / static_cast<int64_t>(calls) / 2;
    row.max_ns = total_ns;
    row.mean_ns = static_cast<double>(total_ns) / static_cast<double>(calls);
    result.slices.push_back(row);
  };
  add("frame", profile::kNone, 3, 9'000'000, 1'000'000);
  add("draw \"it\"", 0, 6, 8'000'000, 7'999'999);
  add("tiny", 1, 1, 1, 1);
  result.slices.back().mean_ns = {Status::kBelowResolution, "a call takes 1 ns"};
  add("", profile::kNone, 1, 5, 5);
  result.slices.back().kind = profile::Kind::kDevice;
  result.sums = {{"layers of \"X\"",
                  "conv + relu",
                  profile::Kind::kEngineReported,
                  3,
                  6'000'000,
                  2e6,
                  1.9e6,
                  1.0,
                  {}},
                 {"layers of \"X\"", "", profile::Kind::kEngineMeanSinceCompile, 0, 0,
                  profile::Missing{Status::kTooFewSamples, "no samples"},
                  profile::Missing{Status::kUnavailable, "the file does not tell"}, 0.0, 1071}};
  result.losses.Add(Loss::kOtherPackets, 1201);
  return result;
}

// A delegate that counts on a clock of its own.
PerfResult Ticks() {
  PerfResult result = RecordedBlocks();
  const profile::Missing unknown{Status::kUnavailable, "its clock's tick is not known"};
  const auto in_ticks = [&](profile::OpRow& row) {
    row.in_ticks = true;
    row.total_ticks = 1234 + row.id;
    row.total_ns = 0;
    row.self_ns = 0;
    row.mean_ns = unknown;
    row.p50_ns = unknown;
  };
  for (profile::OpRow& row : result.ops) {
    if (row.type == profile::RowType::kDelegateOp) in_ticks(row);
  }
  for (profile::DelegateResult& delegate : result.delegates) {
    for (profile::OpRow& layer : delegate.layers) in_ticks(layer);
    delegate.layer_coverage = unknown;
    delegate.resolution_ns = unknown;
  }
  result.losses.Add(Loss::kDelegateClock);
  return result;
}

}  // namespace inferprobe::result_json::samples
