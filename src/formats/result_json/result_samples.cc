#include "formats/result_json/result_samples.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "analyze/latency.h"
#include "formats/result_json/sample_parts.h"

namespace inferprobe::result_json {
namespace {

using analyze::SyntheticProfile;
using profile::Category;
using profile::Loss;
using profile::PerfResult;
using profile::RunMode;
using profile::Status;
using samples::Analyze;
using samples::Facts;
using samples::Jitter;
using samples::ProfiledRun;

void PlainRun(SyntheticProfile& made, RunMode mode, int64_t ns, uint32_t group = 0) {
  made.BeginRun(mode, group);
  made.Wait(ns);
  made.EndRun();
}

PerfResult Typical() {
  PerfResult result = Facts();
  SyntheticProfile made;
  made.profile.clock.tick_ns = 0.4;
  Jitter jitter;
  PlainRun(made, RunMode::kFirst, 610'000);
  for (int i = 0; i < 10; ++i) PlainRun(made, RunMode::kWarmup, 250'000 - i * 3000);
  for (int i = 0; i < 412; ++i) {
    int64_t ns = 188'000 + jitter.UpTo(7000) + jitter.UpTo(7000);
    if (i % 40 == 17) ns += 20'000 + jitter.UpTo(90'000);
    PlainRun(made, RunMode::kLatency, ns);
    if (i == 17 || i == 18 || i == 230) {
      made.profile.runs.back().disturbance.run_queue_delay_ns = 300'000;
    }
  }
  for (uint32_t group = 1; group <= 60; ++group) {
    PlainRun(made, RunMode::kPairOff, 189'000 + jitter.UpTo(9000), group);
    PlainRun(made, RunMode::kPairNull, 189'000 + jitter.UpTo(9000), group);
    ProfiledRun(made, jitter, group);
  }
  Analyze(made, result);
  result.load_ms = 2.1;
  result.processes.push_back({.index = 0,
                              .pid = 4711,
                              .load_ms = 2.1,
                              .first_run_ms = 0.61,
                              .latency_runs = 412,
                              .profiled_runs = 60,
                              .failure = ""});
  result.outputs.verdict = profile::OutputCheck::Verdict::kMatch;
  result.outputs.max_abs_error = 1.5e-7;
  result.outputs.text = "1 output within 1e-3 of the bundled case 0";
  result.outputs.profiled_equal = true;
  result.outputs.repeatable = true;
  result.outputs.sha256 = {std::string(64, 'b')};
  return result;
}

PerfResult OneSample() {
  PerfResult result = Facts();
  result.settings.iterations = 1;
  SyntheticProfile made;
  Jitter jitter;
  PlainRun(made, RunMode::kLatency, 190'000);
  PlainRun(made, RunMode::kPairOff, 190'000, 1);
  ProfiledRun(made, jitter, 1);
  Analyze(made, result);
  return result;
}

// Names that quote, break lines, turn text around, are not UTF-8, are long, or look like formulas.
const char* const kHostile[] = {"quo\"te | pipe, comma",
                                "line\nbreak\ttab",
                                "\xe2\x80\xae"
                                "turned",
                                "bad\xff\xfe"
                                "bytes",
                                "=HYPERLINK(\"x\")",
                                "\x1b[31mred",
                                "\\back`tick`",
                                "",
                                "\xe6\xbc\xa2\xe5\xad\x97 wide"};

PerfResult HostileNames() {
  PerfResult result = Facts();
  result.model.path = "a \"b\"\n\x1b[2J.pte";
  result.model.delegates[0].backend =
      "Bad\xff"
      "Backend\r\n";
  result.environment.cpu = "\xe2\x80\x8b";
  SyntheticProfile made;
  for (int run = 0; run < 3; ++run) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(9000);
    for (const char* name : kHostile) made.Reported(name, 1000);
    made.Leave();
    int32_t instruction = 1000;  // without a name in the model
    for (const char* name : kHostile) {
      made.Leaf(Category::kOperatorCall, name, 20'000, ++instruction);
    }
    made.Leaf(Category::kScope, std::string(5000, 'x'), 3000);
    made.EndRun();
  }
  Analyze(made, result);
  result.losses.Add(Loss::kInvalidUtf8, 4);
  return result;
}

PerfResult Crash() {
  PerfResult result = Facts();
  result.settings.processes = 2;
  SyntheticProfile made;
  for (int i = 0; i < 25; ++i) PlainRun(made, RunMode::kLatency, 190'000 + i % 5 * 1000);
  Analyze(made, result);
  result.losses.Add(Loss::kWorkerDied);
  result.losses.Add(Loss::kRingDropped, 12'345);
  result.processes.push_back({.index = 0,
                              .pid = 10,
                              .load_ms = 2.0,
                              .first_run_ms = 0.6,
                              .latency_runs = 25,
                              .profiled_runs = 0,
                              .failure = "killed by signal 11 (SIGSEGV)"});
  const profile::Missing died{Status::kNotMeasured, "the worker died"};
  result.processes.push_back({.index = 1,
                              .pid = 11,
                              .load_ms = died,
                              .first_run_ms = died,
                              .latency_runs = 0,
                              .profiled_runs = 0,
                              .failure = "killed by signal 9 (SIGKILL)"});
  return result;
}

PerfResult Extremes() {
  PerfResult result = Facts();
  result.model.bytes = std::numeric_limits<int64_t>::max();
  result.latency = analyze::SummarizeLatency(
      {{0.1, 0.2, 0.30000000000000004, 1e-9, 123456789.123456789, 5e-324}, {}});
  result.latency.std = std::numeric_limits<double>::quiet_NaN();
  result.latency.max = std::numeric_limits<double>::infinity();
  result.load_ms = 9.999999999999999e29;  // the largest that is read
  profile::OpRow row;
  row.name = "largest";
  row.total_ns = std::numeric_limits<int64_t>::max();
  row.self_ns = std::numeric_limits<int64_t>::min();
  row.share = std::numeric_limits<double>::quiet_NaN();
  result.ops = {row};
  result.profiled_runs = 1;
  return result;
}

PerfResult ManyRows() {
  PerfResult result = Facts();
  result.model.instruction_names.clear();
  SyntheticProfile made;
  Jitter jitter;
  for (int run = 0; run < 4; ++run) {
    made.Enter(Category::kScope, "my batch");
    made.BeginRun();
    made.Enter(Category::kMethod, "Method::execute");
    for (int32_t i = 0; i < 300; ++i) {
      made.Enter(Category::kOperatorCall, "OPERATOR_CALL", i);
      made.Leaf(Category::kKernel, "native_call_op" + std::to_string(i % 7) + ".out",
                (i % 50 == 0 ? 50'000 : 120) + jitter.UpTo(40));
      made.Leave();
    }
    made.Leave();
    made.EndRun();
    made.Leave();
  }
  Analyze(made, result);
  return result;
}

// A coverage that whole units explain, and an output that could not be written.
PerfResult Rounded() {
  PerfResult result = Facts();
  SyntheticProfile made;
  for (uint32_t group = 1; group <= 3; ++group) {
    made.BeginRun(RunMode::kPairOn, group);
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(3900);
    made.Reported("one", 1000);
    made.Reported("two", 2000);
    made.Leave();
    made.EndRun();
  }
  Analyze(made, result);
  result.unwritten = {{ErrorCode::kIo, "cannot write t.pftrace: No space left on device", ""}};
  return result;
}

}  // namespace

std::vector<ResultSample> ResultSamples() {
  return {{"typical", Typical()},
          {"everything_missing", PerfResult{}},
          {"one_sample", OneSample()},
          {"hostile_names", HostileNames()},
          {"crash", Crash()},
          {"extremes", Extremes()},
          {"many_rows", ManyRows()},
          {"recorded_blocks", samples::RecordedBlocks()},
          {"recorded_slices", samples::RecordedSlices()},
          {"ticks", samples::Ticks()},
          {"rounded", Rounded()},
          {"delegates", samples::Delegates()},
          {"regions", samples::Regions()},
          {"regions_of_own_code", samples::RegionsOfOwnCode()},
          {"modules", samples::Modules()},
          {"modules_on_device", samples::ModulesOnDevice()},
          {"many_modules", samples::ManyModules()},
          {"hostile_modules", samples::HostileModules()}};
}

const PerfResult& GetResultSample(const std::string& name) {
  static const std::vector<ResultSample> samples = ResultSamples();
  for (const ResultSample& sample : samples) {
    if (sample.name == name) return sample.result;
  }
  std::abort();  // a misspelt name in a test
}

}  // namespace inferprobe::result_json
