#include <string>
#include <utility>

#include "analyze/regions.h"
#include "formats/result_json/sample_parts.h"

namespace inferprobe::result_json::samples {

using analyze::MadePart;
using analyze::SyntheticProfile;
using profile::Category;
using profile::PerfResult;
using profile::RunMode;
using profile::Status;

namespace {

profile::Region Loop(int64_t iterations, int32_t requested, int32_t admitted) {
  profile::Region facts;
  facts.iterations = iterations;
  facts.grain = 1;
  facts.requested = requested;
  facts.admitted = admitted;
  return facts;
}

PerfResult RegionFacts() {
  PerfResult result = Facts();
  result.model.path = "samples/text_portable.pte";
  result.model.delegates.push_back(
      {.id = 1, .backend = "OpenvinoBackend", .blob_bytes = 9000, .engine_id = "9f3c51d2-1"});
  result.model.instructions = 4;
  result.model.instruction_names = {"", "aten::addmm.out", "aten::mul.out", ""};
  result.model.instruction_delegates = {0, -1, -1, 1};
  return result;
}

// An operator on one thread for most of the run, a delegate that shares its work badly, a loop that
// the pool lets one thread into, and a delegate that hides its threads.
void PortableRun(SyntheticProfile& made, Jitter& jitter, uint32_t group) {
  made.BeginRun(RunMode::kPairOn, group);
  made.Enter(Category::kMethod, "Method::execute");
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  for (int i = 0; i < 3; ++i) {
    made.Wait(40'000);
    const int64_t wall_ns = 900'000 + 300'000 * i + jitter.UpTo(5'000);
    made.Region("2d_tile_2d_dynamic", wall_ns, Loop(147, 2, 2),
                {{.tid = 41, .start_ns = 2'000, .busy_ns = wall_ns - 4'000},
                 {.tid = 42, .start_ns = 9'000, .busy_ns = wall_ns / (i + 1) - 10'000}},
                0);
  }
  made.Leave();
  made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 129'000'000 + jitter.UpTo(90'000), 1);
  made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 2);
  made.Wait(500);
  made.Region("parallel_for", 30'000, Loop(64, 2, 1), {{.tid = 41, .busy_ns = 29'000}}, 2);
  made.Leave();
  made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 2'000'000, 3);
  made.Leave();
  made.EndRun();
}

}  // namespace

PerfResult Regions() {
  PerfResult result = RegionFacts();
  result.environment.core_types = {{"all", {0, 1}}};
  SyntheticProfile made;
  Jitter jitter;
  for (uint32_t group = 1; group <= 4; ++group) PortableRun(made, jitter, group);
  Analyze(made, result);
  result.regions = analyze::AnalyzeRegions(made.profile, result, {.detail = "busy"});
  profile::RegionReport report = *result.regions;
  report.process_cpu_ns = 139e6;
  result.regions = std::move(report);
  return result;
}

// Of a program of the user's own on a machine of two kinds of cores, at every level of detail; some
// of it was lost.
PerfResult RegionsOfOwnCode() {
  PerfResult result = RegionFacts();
  result.environment.core_types = {{"performance", {0, 1}}, {"efficient", {2, 3}}};
  SyntheticProfile made;
  const uint32_t file = made.profile.strings.Intern("/home/me/src/run\ttime.cc");
  const uint32_t function = made.profile.strings.Intern("void Step(int)\x1b[31m");
  const auto part = [](int64_t tid, int64_t busy_ns, int32_t cpu) {
    return MadePart{.tid = tid,
                    .busy_ns = busy_ns,
                    .facts = {.iterations = 500,
                              .chunks = 5,
                              .migrations = static_cast<uint32_t>(tid),
                              .first_cpu = cpu,
                              .last_cpu = cpu,
                              .cpu_ns = static_cast<uint64_t>(busy_ns) - 100,
                              .cpu_status = Status::kValid}};
  };
  for (uint32_t run = 0; run < 3; ++run) {
    made.BeginRun();
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
    profile::Region facts = Loop(1000, 4, 2);
    facts.file = file;
    facts.function = function;
    facts.line = 17;
    facts.process_cpu_status = Status::kValid;
    facts.process_cpu_ns = 7'000'000;
    const uint64_t outer =
        made.BeginRegion("", 5'000'000, facts, {part(1, 4'900'000, 0), part(2, 1'600'000, 3)}, 1);
    facts = Loop(10, 4, 1);
    facts.line = 18;
    facts.file = file;
    facts.parent = outer;
    facts.nested_inline = true;
    facts.process_cpu_status = Status::kBelowResolution;
    for (int i = 0; i < 2; ++i) made.Region("", 200'000, facts, {part(2, 200'000, 3)});
    made.Wait(4'600'000);
    facts = Loop(0, 4, 0);
    facts.code = made.profile.strings.Intern("libown.so+0x12");
    facts.participants_status = Status::kValid;
    facts.process_cpu_status = Status::kBelowResolution;
    for (uint32_t i = 0; i < run; ++i) made.Region("", 50, facts, {}, 1);
    facts = Loop(9, 200, 200);
    facts.participants_dropped = 72;
    facts.process_cpu_status = Status::kBelowResolution;
    made.Region("wide | \"odd\"", 90'000, facts, {part(3, 80'000, 1)}, 1);
    made.Leave();
    made.EndRun();
  }
  Analyze(made, result);
  result.regions =
      analyze::AnalyzeRegions(made.profile, result, {.core_types = result.environment.core_types});
  return result;
}

}  // namespace inferprobe::result_json::samples
