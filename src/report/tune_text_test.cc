#include "report/tune_text.h"

#include <gtest/gtest.h>

#include "analyze/tuning.h"
#include "report/golden.h"

namespace inferprobe::report {
namespace {

using profile::Status;

profile::TuneResult Sample() {
  profile::TuneResult result;
  result.model = "model.pte";
  result.engine = "ExecuTorch 1.5.1";
  result.rounds = 4;
  result.unit = "fresh processes";
  result.second_ms = {2.02, 2, 2.01, 1.98};
  profile::TuneCandidate& baseline = result.candidates.emplace_back();
  baseline.name = "default (4 threads)";
  baseline.medians_ms = {2, 2.02, 1.98, 2.01};
  baseline.max_abs_error = 0.0;
  baseline.efficiency = 0.41;
  baseline.idle_core_ns = 4.2e6;
  baseline.serial_share = 0.12;
  baseline.process_cpu_ns = 7.9e6;
  profile::TuneCandidate& two = result.candidates.emplace_back();
  two.name = "2 threads";
  two.threads = 2;
  two.medians_ms = {1.5, 1.51, 1.5, 1.49};
  two.efficiency = 0.83;
  two.idle_core_ns = 0.5e6;
  two.serial_share = 0.18;
  two.process_cpu_ns = 2.8e6;
  profile::TuneCandidate& wrong = result.candidates.emplace_back();
  wrong.name = "3 threads";
  wrong.threads = 3;
  wrong.medians_ms = {1, 1.01, 1, 1.01};
  wrong.wrong_outputs = true;
  wrong.why = "output 0: element 7 is 1, 2 was expected";
  const profile::Missing hidden{Status::kUnsupported, "the delegate's threads are its own"};
  wrong.efficiency = wrong.idle_core_ns = wrong.serial_share = wrong.process_cpu_ns = hidden;
  profile::TuneCandidate& died = result.candidates.emplace_back();
  died.name = "64 threads";
  died.threads = 64;
  died.failed = true;
  died.why = "the worker process was killed by signal 11 (Segmentation fault)";
  analyze::JudgeTuning(&result);
  return result;
}

TEST(TuneText, ForPeople) { ExpectGolden("tune.txt", TuneReport(Sample(), Format::kTable)); }
TEST(TuneText, ForMachines) {
  ExpectGolden("tune.json", TuneReport(Sample(), Format::kJson));
  ExpectGolden("tune.csv", TuneReport(Sample(), Format::kCsv));
  ExpectGolden("tune.md", TuneReport(Sample(), Format::kMarkdown));
}

}  // namespace
}  // namespace inferprobe::report
