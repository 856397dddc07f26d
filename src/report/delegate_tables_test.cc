#include "report/delegate_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "formats/result_json/result_samples.h"
#include "report/op_table.h"

namespace inferprobe::report {
namespace {

using profile::CallMode;
using profile::PerfResult;
using profile::Status;

PerfResult Sample() { return result_json::GetResultSample("delegates"); }

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(DelegateTables, EachHeadingNamesItsKind) {
  const std::string text = DelegateTables(Sample(), {});
  EXPECT_TRUE(Has(text, "\nphases of OpenvinoBackend #1 (host wall, per run; calls block"));
  EXPECT_TRUE(Has(text, "\ninside OpenvinoBackend #1 (engine-reported, whole us; covers"));
  EXPECT_TRUE(Has(text, "device: cuda event  what"));
}

TEST(DelegateTables, OnlyADelegateWithADeviceHasItsColumn) {
  const std::string text = DelegateTables(Sample(), {});
  const size_t openvino = text.find("phases of OpenvinoBackend");
  EXPECT_FALSE(
      Has(text.substr(openvino, text.find("inside OpenvinoBackend") - openvino), "device"));
}

TEST(DelegateTables, WhatADeviceNeverToldIsSaid) {
  PerfResult result = Sample();
  EXPECT_TRUE(Has(DelegateTables(result, {}),
                  "\n  1 of 4 calls have no device time: all pairs of device events were in"));
  for (profile::DelegateResult& delegate : result.delegates) {
    if (delegate.device) delegate.device->missing_why.clear();
  }
  EXPECT_TRUE(Has(DelegateTables(result, {}),
                  "\n  1 of 4 calls have no device time: it did not come before the recording"));
  for (profile::DelegateResult& delegate : result.delegates) {
    if (delegate.device) delegate.device->missing = 0;
  }
  EXPECT_FALSE(Has(DelegateTables(result, {}), "have no device time"));
}

TEST(DelegateTables, LayersSayThatReadingThemDisturbs) {
  const std::string text = DelegateTables(Sample(), {});
  EXPECT_TRUE(
      Has(text, "\n  reading layers adds overhead and can change scheduling; it took 8.00 us"));
  EXPECT_TRUE(Has(text, "each mean below may be off by 5.05 us\n"));
  // Those that a delegate reports by itself do not.
  const size_t xnnpack = text.find("inside XnnpackBackend");
  EXPECT_FALSE(Has(text.substr(xnnpack, text.find("phases of Openvino") - xnnpack), "overhead"));
}

// As a runtime without its tracer has it.
TEST(DelegateTables, WithoutAnInstructionAroundItTheWholeCallHasItsLayersAndWhatTheyCost) {
  PerfResult result = Sample();
  profile::DelegateResult& delegate = result.delegates[1];
  delegate.op = delegate.whole_call;
  for (const profile::OpRow& layer : delegate.layers) {
    result.ops[layer.id].parent = delegate.whole_call;
  }
  const std::string text = DelegateTables(result, {});
  EXPECT_FALSE(Has(text, "reported outside any delegate call"));
  const size_t at = text.find("inside openvino.delegate");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(Has(text.substr(at, 400), "reading layers adds overhead"));
}

TEST(DelegateTables, LayersThatAreNotThereSayWhy) {
  PerfResult result = Sample();
  for (profile::DelegateResult& delegate : result.delegates) {
    delegate.layers.clear();
    delegate.layer_coverage = {Status::kUnavailable, "no inner detail"};
  }
  std::string text = DelegateTables(result, {});
  EXPECT_TRUE(Has(text, "inside XnnpackBackend #0: n/a (unavailable: no inner detail)"));
  EXPECT_TRUE(Has(text, "inside OpenvinoBackend #1: its layers went to files"));
  result.settings.level = "off";
  text = DelegateTables(result, {});
  EXPECT_TRUE(Has(text, "inside XnnpackBackend #0: n/a (not requested: --level)"));
}

TEST(DelegateTables, LayersOfCallsThatReturnEarlyCompareWithEachOther) {
  const std::string text = DelegateTables(Sample(), {});
  const size_t at = text.find("inside TensorRTBackend #2 (asynchronous)");
  EXPECT_TRUE(Has(text.substr(at, 400), "of reported"));
  EXPECT_TRUE(Has(text.substr(at, 400), "100.0 %"));
  EXPECT_FALSE(Has(text, "warning: covers"));
}

TEST(DelegateTables, WithoutPhasesThereIsNoTableOfThem) {
  PerfResult result = Sample();
  for (profile::DelegateResult& delegate : result.delegates) {
    delegate.phases = {Status::kNotRequested, "why"};
    delegate.device.reset();
  }
  EXPECT_FALSE(Has(DelegateTables(result, {}), "phases of"));
}

TEST(DelegateTables, LayersOfOtherKindsHaveAColumnThatSaysSo) {
  PerfResult result = Sample();
  EXPECT_FALSE(Has(DelegateTables(result, {}), "as each row says"));
  result.delegates[1].layers[1].kind = profile::Kind::kHostCpu;
  const std::string text = DelegateTables(result, {});
  EXPECT_TRUE(Has(text, "inside OpenvinoBackend #1 (as each row says"));
  EXPECT_TRUE(Has(text, "layer of 40 us"));
  EXPECT_TRUE(Has(text, "host CPU\n"));
}

// Totals are of the profiled runs; means that were undone are of more, and need not agree.
TEST(DelegateTables, LayersStandInTheOrderOfWhatIsPrinted) {
  PerfResult result = Sample();
  auto& layers = result.delegates[1].layers;
  layers.resize(2);
  layers[0].name = "small";
  layers[0].mean_ns = 1000.0;
  layers[0].total_ns = 9000;
  layers[1].name = "large";
  layers[1].mean_ns = 2000.0;
  layers[1].total_ns = 8000;
  const std::string text = DelegateTables(result, {});
  EXPECT_LT(text.find("large\n"), text.find("small\n"));
}

TEST(DelegateTables, ARowThatAFileMadeUpIsNoRow) {
  PerfResult result = Sample();
  result.delegates[1].whole_call = 1'000'000;
  result.delegates[1].op = 1'000'000;
  EXPECT_TRUE(Has(DelegateTables(result, {}), "inside OpenvinoBackend ("));
}

TEST(OpTree, TheWholeCallIsALineOfItsOwnOnlyBesideOthersOrWhenAsked) {
  const PerfResult result = Sample();
  const std::string folded = OpTree(result, {});
  EXPECT_FALSE(Has(folded, "xnnpackbackend.delegate"));
  EXPECT_TRUE(Has(folded, "openvino.delegate"));
  EXPECT_TRUE(Has(folded, "openvino.layer_report"));
  EXPECT_FALSE(Has(folded, "openvino.infer_host"));
  const std::string all = OpTree(result, {.all_rows = true});
  EXPECT_TRUE(Has(all, "xnnpackbackend.delegate"));
  EXPECT_TRUE(Has(all, "openvino.infer_host"));
}

TEST(OpTree, AsynchronousCallsAreMarked) {
  PerfResult result = Sample();
  EXPECT_TRUE(Has(OpTree(result, {}), "(asynchronous) *"));
  EXPECT_TRUE(Has(OpTree(result, {}), "\n  * calls return while work is in flight"));
  for (profile::DelegateResult& delegate : result.delegates) delegate.mode = CallMode::kBlocking;
  EXPECT_FALSE(Has(OpTree(result, {}), "*"));
}

TEST(DelegateSummary, IsThereWhereThereAreDelegates) {
  PerfResult result = Sample();
  EXPECT_TRUE(Has(DelegateSummaryTable(result), "in delegates\n"));
  result.delegate_summary->unattributed_ns = {Status::kNotMeasured, "only the method was timed"};
  EXPECT_FALSE(Has(DelegateSummaryTable(result), "unattributed"));  // as in the tree
  result.delegate_summary.reset();
  EXPECT_EQ(DelegateSummaryTable(result), "");
}

}  // namespace
}  // namespace inferprobe::report
