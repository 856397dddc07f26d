#include "analyze/recording.h"

#include <gtest/gtest.h>

#include <string_view>

#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::OpRow;
using profile::Recording;
using profile::RowType;
using profile::RunMode;
using profile::Slice;
using profile::Status;

// A call as ExecuTorch records it: children before their parents, nothing around the method.
class Recorded {
 public:
  Recorded() {
    recording.profile.tracks.resize(2);
    recording.profile.tracks[1].type = profile::TrackType::kEngine;
    recording.profile.tracks[1].kind = profile::Kind::kEngineReported;
  }

  uint32_t Add(Category category, std::string_view name, int64_t start, int64_t end,
               int32_t instruction = -1, uint16_t track = 0) {
    profile::Profile& profile = recording.profile;
    Slice slice;
    slice.start_ns = start;
    slice.dur_ns = end - start;
    slice.name = profile.strings.Intern(name);
    slice.category = category;
    slice.track = track;
    if (instruction >= 0) {
      profile::SliceArgs args;
      args.instruction = instruction;
      slice.args = profile.AddArgs(args);
    }
    profile.slices.push_back(slice);
    return static_cast<uint32_t>(profile.slices.size() - 1);
  }
  void SetParent(uint32_t child, uint32_t parent) {
    recording.profile.slices[child].parent = parent;
  }

  Recording recording;
};

const OpRow* Find(const profile::PerfResult& result, std::string_view name) {
  for (const OpRow& row : result.ops) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST(FindRuns, EachOutermostMethodIsARun) {
  Recorded made;
  made.Add(Category::kScope, "before", 0, 5);
  const uint32_t kernel = made.Add(Category::kKernel, "native_call_add.out", 12, 18, 0);
  const uint32_t inner = made.Add(Category::kMethod, "Method::execute", 11, 19);
  const uint32_t outer = made.Add(Category::kMethod, "Method::execute", 10, 20);
  made.SetParent(kernel, inner);
  made.SetParent(inner, outer);
  made.Add(Category::kMethod, "Method::execute", 30, 44);
  FindRuns(&made.recording.profile);
  const std::vector<profile::Run>& runs = made.recording.profile.runs;
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].mode, RunMode::kProfiled);
  EXPECT_EQ(runs[0].start_ns, 10);
  EXPECT_EQ(runs[0].dur_ns, 10);
  EXPECT_EQ(runs[0].first_slice, 1U);
  EXPECT_EQ(runs[0].slice_count, 3U);
  EXPECT_EQ(runs[1].first_slice, 4U);
  EXPECT_EQ(runs[1].slice_count, 1U);
}

TEST(AnalyzeRecording, RowsComeFromProfiledRunsAndLatencyFromNone) {
  Recorded made;
  const uint32_t kernel = made.Add(Category::kKernel, "native_call_add.out", 12'000, 18'000, 3);
  const uint32_t call = made.Add(Category::kOperatorCall, "OPERATOR_CALL", 11'000, 19'000, 3);
  const uint32_t method = made.Add(Category::kMethod, "Method::execute", 10'000, 20'000);
  made.SetParent(kernel, call);
  made.SetParent(call, method);
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  EXPECT_EQ(result.profiled_runs, 1U);
  EXPECT_EQ(result.latency.count, 0U);
  EXPECT_FALSE(result.latency.avg);
  EXPECT_TRUE(result.slices.empty());
  const OpRow* row = Find(result, "add.out");  // named after its kernel
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->type, RowType::kOperatorCall);
  EXPECT_EQ(row->total_ns, 8000);
  EXPECT_FALSE(row->probe_cost_ns);
  EXPECT_EQ(result.ops[0].total_ns, 10'000);
}

TEST(AnalyzeRecording, OperatorsOfOneNameAtTwoInstructionsAreTwoRows) {
  Recorded made;
  std::vector<uint32_t> calls;
  for (const int32_t instruction : {1, 2}) {
    const int64_t at = instruction * 1000;
    const uint32_t kernel =
        made.Add(Category::kKernel, "native_call_add.out", at, at + 100, instruction);
    calls.push_back(made.Add(Category::kOperatorCall, "OPERATOR_CALL", at, at + 200, instruction));
    made.SetParent(kernel, calls.back());
  }
  const uint32_t method = made.Add(Category::kMethod, "Method::execute", 0, 5000);
  for (const uint32_t call : calls) made.SetParent(call, method);
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  int rows = 0;
  for (const OpRow& row : result.ops) rows += row.name == "add.out" ? 1 : 0;
  EXPECT_EQ(rows, 2);
}

TEST(AnalyzeRecording, ADelegateOnItsOwnClockHasTicksAndNoTimes) {
  Recorded made;
  made.recording.profile.tracks[1].in_ticks = true;
  const uint32_t conv = made.Add(Category::kDelegateOp, "conv", 7, 7 + 300, 0, 1);
  const uint32_t pool = made.Add(Category::kDelegateOp, "pool", 400, 500, 0, 1);
  const uint32_t call = made.Add(Category::kDelegateCall, "DELEGATE_CALL", 1000, 9000, 0);
  const uint32_t method = made.Add(Category::kMethod, "Method::execute", 0, 10'000);
  made.SetParent(conv, call);
  made.SetParent(pool, call);
  made.SetParent(call, method);
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  const OpRow* row = Find(result, "conv");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->in_ticks);
  EXPECT_EQ(row->total_ticks, 300);
  EXPECT_EQ(row->total_ns, 0);
  EXPECT_FALSE(row->mean_ns);
  EXPECT_DOUBLE_EQ(*row->share, 0.75);  // of what was reported
  ASSERT_EQ(result.delegates.size(), 1U);
  EXPECT_EQ(result.delegates[0].layer_coverage.missing().status, Status::kUnavailable);
  EXPECT_EQ(result.delegates[0].layers.size(), 2U);
  EXPECT_EQ(result.losses.Get(profile::Loss::kDelegateClock), 1U);
  // The call's own time is untouched by them.
  EXPECT_EQ(Find(result, "DELEGATE_CALL@0")->self_ns, 8000);
}

// Two runs of one call; in the second the call was dropped.
TEST(AnalyzeRecording, ARunThatLostEventsIsInNoRowUnlessNoneIsWhole) {
  Recorded made;
  const uint32_t call = made.Add(Category::kOperatorCall, "OPERATOR_CALL", 0, 400'000, 0);
  made.SetParent(call, made.Add(Category::kMethod, "Method::execute", 0, 400'100));
  made.Add(Category::kMethod, "Method::execute", 500'000, 900'100);
  FindRuns(&made.recording.profile);
  made.recording.profile.runs[1].incomplete = true;
  profile::PerfResult result = AnalyzeRecording(made.recording);
  EXPECT_EQ(result.profiled_runs, 1U);
  EXPECT_DOUBLE_EQ(*Find(result, "OPERATOR_CALL@0")->mean_ns, 400'000);
  EXPECT_DOUBLE_EQ(*Find(result, "between instructions")->mean_ns, 100);
  EXPECT_EQ(result.losses.Get(profile::Loss::kIncompleteRun), 1U);

  made.recording.profile.runs[0].incomplete = true;
  result = AnalyzeRecording(made.recording);
  EXPECT_EQ(result.profiled_runs, 2U);
  ASSERT_FALSE(result.ops.empty());
  for (const profile::OpRow& row : result.ops) {
    ASSERT_FALSE(row.mean_ns) << row.name;
    EXPECT_EQ(row.mean_ns.missing().status, Status::kUnavailable);
    EXPECT_EQ(row.mean_ns.missing().hint, "no run is whole, each lost events");
    EXPECT_FALSE(row.p50_ns) << row.name;
    EXPECT_GT(row.total_ns, 0) << row.name;  // what was recorded
  }
  made.recording.profile.runs[1].why = profile::Loss::kTruncatedFile;
  result = AnalyzeRecording(made.recording);
  EXPECT_EQ(result.ops[0].mean_ns.missing().hint,
            "no run is whole, each lost events (truncated_file)");
}

// The file says which its runs are: there is none to be guessed.
TEST(FindRuns, WhatAFileMarksIsNotGuessedAgain) {
  Recorded made;
  made.Add(Category::kMethod, "Method::execute", 0, 1000);
  made.recording.profile.runs_marked = true;
  FindRuns(&made.recording.profile);
  EXPECT_TRUE(made.recording.profile.runs.empty());
}

TEST(AnalyzeRecording, ACallsLayersAreItsOwn) {
  Recorded made;
  const uint32_t deep = made.Add(Category::kDelegateOp, "deep", 300, 400, 1, 1);
  const uint32_t inner = made.Add(Category::kDelegateCall, "DELEGATE_CALL", 250, 500, 1);
  const uint32_t flat = made.Add(Category::kDelegateOp, "flat", 600, 900, 0, 1);
  const uint32_t outer = made.Add(Category::kDelegateCall, "DELEGATE_CALL", 200, 1000, 0);
  const uint32_t method = made.Add(Category::kMethod, "Method::execute", 0, 2000);
  made.SetParent(deep, inner);
  made.SetParent(inner, outer);
  made.SetParent(flat, outer);
  made.SetParent(outer, method);
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  ASSERT_EQ(result.delegates.size(), 2U);
  ASSERT_EQ(result.delegates[0].layers.size(), 1U);
  EXPECT_EQ(result.delegates[0].layers[0].name, "flat");
  ASSERT_EQ(result.delegates[1].layers.size(), 1U);
  EXPECT_EQ(result.delegates[1].layers[0].name, "deep");
}

TEST(AnalyzeRecording, AKnownTickIsTheResolution) {
  Recorded made;
  made.recording.profile.tracks[1].tick_ns = 250;
  const uint32_t conv = made.Add(Category::kDelegateOp, "conv", 1000, 76'000, 0, 1);
  const uint32_t call = made.Add(Category::kDelegateCall, "DELEGATE_CALL", 1000, 100'000, 0);
  made.SetParent(conv, call);
  made.SetParent(call, made.Add(Category::kMethod, "Method::execute", 0, 200'000));
  FindRuns(&made.recording.profile);
  EXPECT_EQ(*AnalyzeRecording(made.recording).delegates[0].resolution_ns, 250);
}

TEST(AnalyzeRecording, WithoutARunTheSlicesAreSummed) {
  Recorded made;
  made.Add(Category::kScope, "frame", 0, 100);
  made.Add(Category::kScope, "frame", 200, 320);
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  EXPECT_EQ(result.profiled_runs, 0U);
  ASSERT_EQ(result.slices.size(), 1U);
  EXPECT_EQ(result.slices[0].total_ns, 220);
}

// A row in each run, and none in the others: what would be written out for the others is quadratic.
TEST(AnalyzeRecording, ARowThatFewRunsHaveHasTheMedianOfAll) {
  Recorded made;
  for (int run = 0; run < 3; ++run) {
    const int64_t at = run * 100'000;
    const std::string name = run == 0 ? "once" : "else";
    const uint32_t other = made.Add(Category::kOther, name, at, at + 10'000);
    const uint32_t method = made.Add(Category::kMethod, "Method::execute", at, at + 50'000);
    made.SetParent(other, method);
  }
  FindRuns(&made.recording.profile);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  EXPECT_DOUBLE_EQ(*Find(result, "once")->p50_ns, 0);
  EXPECT_DOUBLE_EQ(*Find(result, "else")->p50_ns, 10'000);
}

// Found by fuzz_perfetto.
TEST(AnalyzeRecording, AStartThatNoClockCanTellIsLeftOut) {
  Recorded made;
  made.recording.profile.clock.realtime_minus_monotonic_ns = 1'700'000'000'000'000'000;
  made.Add(Category::kScope, "late", 9'223'372'036'854'000'000, 9'223'372'036'854'000'001);
  EXPECT_EQ(AnalyzeRecording(made.recording).started_at, "");
}

TEST(AnalyzeRecording, ModulesHaveATableOfTheirOwn) {
  Recorded made;
  profile::SliceArgs args;
  args.module = 0;
  const uint32_t call = made.Add(Category::kModuleCall, "Net", 100, 400);
  made.recording.profile.slices[call].args = made.recording.profile.AddArgs(args);
  EXPECT_FALSE(AnalyzeRecording(made.recording).modules);

  made.recording.model.modules.tree.resize(1);
  const profile::PerfResult result = AnalyzeRecording(made.recording);
  ASSERT_TRUE(result.modules);
  ASSERT_EQ(result.modules->rows.size(), 1U);
  EXPECT_EQ(*result.modules->rows[0].total_ns, 300);
}

TEST(AnalyzeRecording, AnEmptyRecordingHasNothing) {
  const profile::PerfResult result = AnalyzeRecording(Recording());
  EXPECT_TRUE(result.ops.empty());
  EXPECT_TRUE(result.slices.empty());
  EXPECT_TRUE(result.source.has_value());
}

}  // namespace
}  // namespace inferprobe::analyze
