#include "measure/output_check.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "base/files.h"
#include "measure/inputs/compare_outputs.h"

namespace inferprobe::measure {
namespace {

class OutputChecker {
 public:
  OutputChecker(Engine* engine, const PerfOptions& options, const std::vector<BundledCase>& cases,
                RegionsHook* regions)
      : engine_(engine), options_(options), cases_(cases), regions_(regions) {}

  Result<void> Check();
  profile::OutputCheck Take() { return std::move(check_); }

 private:
  Result<std::vector<std::string>> OutputHashes(bool observed, std::vector<Tensor>* outputs);
  Result<void> CheckBundledCases(const std::vector<Tensor>& first_outputs);
  Result<void> KeepOutputs(const std::vector<Tensor>& outputs);
  Result<void> CompareWithKept(const std::vector<Tensor>& outputs);

  Engine* engine_;
  const PerfOptions& options_;
  const std::vector<BundledCase>& cases_;
  RegionsHook* regions_;
  profile::OutputCheck check_;
};

Result<std::vector<std::string>> OutputChecker::OutputHashes(bool observed,
                                                             std::vector<Tensor>* outputs) {
  auto taken = engine_->Outputs(observed);
  if (!taken) return tl::unexpected(taken.error());
  std::vector<std::string> hashes;
  for (const Tensor& tensor : *taken) {
    hashes.push_back(
        base::Sha256Hex({reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()}));
  }
  if (outputs != nullptr) *outputs = std::move(*taken);
  return hashes;
}

// Each case of a bundled program is run once and compared; the measurement is of case 0.
Result<void> OutputChecker::CheckBundledCases(const std::vector<Tensor>& first_outputs) {
  for (size_t i = 0; i < cases_.size(); ++i) {
    if (cases_[i].expected.empty()) continue;
    std::vector<Tensor> outputs = first_outputs;
    if (i > 0) {
      INFERPROBE_RETURN_IF_ERROR(engine_->SetInputs(cases_[i].inputs));
      INFERPROBE_RETURN_IF_ERROR(engine_->Run(false));
      auto taken = engine_->Outputs(false);
      if (!taken) return tl::unexpected(taken.error());
      outputs = std::move(*taken);
    }
    const OutputComparison comparison = CompareOutputs(outputs, cases_[i].expected);
    if (comparison.max_abs_error &&
        (!check_.max_abs_error || *comparison.max_abs_error > *check_.max_abs_error)) {
      check_.max_abs_error = *comparison.max_abs_error;
    }
    if (check_.verdict == profile::OutputCheck::Verdict::kMismatch) continue;
    check_.verdict = comparison.match ? profile::OutputCheck::Verdict::kMatch
                                      : profile::OutputCheck::Verdict::kMismatch;
    check_.text = fmt::format("bundled case {} of {}: {}", i, cases_.size(), comparison.text);
  }
  if (cases_.size() > 1) INFERPROBE_RETURN_IF_ERROR(engine_->SetInputs(cases_.front().inputs));
  return {};
}

// The bytes of all of them, one after another: whoever compares has the same types and shapes.
Result<void> OutputChecker::KeepOutputs(const std::vector<Tensor>& outputs) {
  std::ofstream file(options_.outputs_to, std::ios::binary);
  for (const Tensor& tensor : outputs) {
    file.write(reinterpret_cast<const char*>(tensor.data.data()),
               static_cast<std::streamsize>(tensor.data.size()));
  }
  if (file.flush()) return {};
  return MakeError(ErrorCode::kIo, "the outputs cannot be kept: " + base::SystemErrorText(errno));
}

Result<void> OutputChecker::CompareWithKept(const std::vector<Tensor>& outputs) {
  auto bytes = base::ReadFile(options_.outputs_expected);
  if (!bytes) return tl::unexpected(bytes.error());
  std::vector<Tensor> expected = outputs;
  size_t total = 0;
  for (const Tensor& tensor : outputs) total += tensor.data.size();
  OutputComparison comparison;
  if (total == bytes->size()) {
    size_t at = 0;
    for (Tensor& tensor : expected) {
      std::memcpy(tensor.data.data(), bytes->data() + at, tensor.data.size());
      at += tensor.data.size();
    }
    comparison = CompareOutputs(outputs, expected);
  } else {
    comparison.match = false;
    comparison.text = fmt::format("{} bytes, {} were expected", total, bytes->size());
  }
  // Not over what a bundle's own expected outputs say.
  if (check_.verdict == profile::OutputCheck::Verdict::kMismatch) return {};
  if (comparison.max_abs_error) check_.max_abs_error = *comparison.max_abs_error;
  check_.verdict = comparison.match ? profile::OutputCheck::Verdict::kMatch
                                    : profile::OutputCheck::Verdict::kMismatch;
  check_.text = comparison.text;
  return {};
}

// After the first run: what came out, whether it comes out again, and with profiling on too. A
// program that keeps state between runs differs from run to run by design; then the comparison with
// the profiled instance says nothing and is not made.
Result<void> OutputChecker::Check() {
  std::vector<Tensor> outputs;
  auto first = OutputHashes(false, &outputs);
  if (!first) return tl::unexpected(first.error());
  check_.sha256 = *first;
  INFERPROBE_RETURN_IF_ERROR(CheckBundledCases(outputs));
  if (!options_.outputs_to.empty()) INFERPROBE_RETURN_IF_ERROR(KeepOutputs(outputs));
  if (!options_.outputs_expected.empty()) INFERPROBE_RETURN_IF_ERROR(CompareWithKept(outputs));
  INFERPROBE_RETURN_IF_ERROR(engine_->Run(false));
  auto second = OutputHashes(false, nullptr);
  if (!second) return tl::unexpected(second.error());
  check_.repeatable = *first == *second;
  if (options_.latency_only) {
    check_.profiled_equal = {profile::Status::kNotRequested, "no profiled runs"};
    return {};
  }
  INFERPROBE_RETURN_IF_ERROR(engine_->PrepareObserved());
  // As the runs will be that are measured so.
  INFERPROBE_RETURN_IF_ERROR(engine_->BeforeObservedRun());
  if (regions_ != nullptr) regions_->BeforeRun(profile::RunMode::kWarmupOn);
  auto run = engine_->Run(true);
  if (regions_ != nullptr) regions_->AfterRun(profile::RunMode::kWarmupOn);
  auto after = engine_->AfterObservedRun();
  if (!run) return run;
  if (!after) return after;
  auto observed = OutputHashes(true, nullptr);
  if (!observed) return tl::unexpected(observed.error());
  if (*first == *second) {
    check_.profiled_equal = *first == *observed;
  } else {
    check_.profiled_equal = {profile::Status::kUnsupported,
                             "two runs without profiling differ already: the program keeps state "
                             "or is not deterministic"};
  }
  return {};
}

}  // namespace

Result<profile::OutputCheck> CheckOutputs(Engine* engine, const PerfOptions& options,
                                          const std::vector<BundledCase>& cases,
                                          RegionsHook* regions) {
  OutputChecker checker(engine, options, cases, regions);
  INFERPROBE_RETURN_IF_ERROR(checker.Check());
  return checker.Take();
}

}  // namespace inferprobe::measure
