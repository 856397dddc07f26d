// What the delegate kit records of calls: phases, modes, device durations, layers from a running
// mean, and the run's time split at the borders of delegates.
#include "analyze/delegates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/operators.h"
#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {
namespace {

using profile::CallMode;
using profile::Category;
using profile::DelegateResult;
using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::OpRow;
using profile::RunMode;
using profile::Status;

OperatorTable Build(const SyntheticProfile& made) { return BuildOperators(made.profile, {}, {}); }

std::string WholeNote(const char* mode, int call = 0) {
  return call == 0 ? fmt::format(R"({{"kind":"host_wall","mode":"{}"}})", mode)
                   : fmt::format(R"({{"kind":"host_wall","mode":"{}","engine":"e","call":{}}})",
                                 mode, call);
}

std::string ReportNote(int64_t calls, int64_t covered = 1) {
  return fmt::format(R"({{"kind":"host_wall","calls":{},"unit_ns":1000,"covered":{}}})", calls,
                     covered);
}

constexpr const char* kLayerNote = R"({"kind":"engine_reported"})";
constexpr const char* kMeanNote = R"({"kind":"engine_reported","of":"running_mean"})";

const OpRow& Row(const OperatorTable& table, std::string_view name) {
  for (const OpRow& row : table.ops) {
    if (row.name == name) return row;
  }
  static const OpRow kNoRow;
  ADD_FAILURE() << "no row " << name;
  return kNoRow;
}

TEST(Delegates, PhasesAreTheHostsEventsInTheWholeCall) {
  SyntheticProfile made;
  for (int run = 0; run < 4; ++run) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(10);
    made.EnterNoted("x.delegate", WholeNote("synchronized"));
    made.Wait(20);
    made.NotedLeaf("x.input_binding", 100 + run);
    made.NotedLeaf("x.enqueue_host", 30);
    made.NotedLeaf("x.enqueue_host", 30);
    made.EnterNoted("x.synchronize");
    made.Wait(600);
    made.NotedLeaf("x.inner", 5);  // in a phase, and none itself
    made.Leave();
    made.Leaf(Category::kOther, "x.unknown", 7);  // of nobody's kit
    made.Leave();
    made.NotedLeaf("x.layer_report", 50, ReportNote(run + 1));
    made.Leave();
    made.Wait(5000);
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 1U);
  const DelegateResult& delegate = table.delegates[0];
  EXPECT_EQ(delegate.mode, CallMode::kSynchronized);
  ASSERT_TRUE(delegate.phases);
  const std::vector<profile::PhaseRow>& phases = *delegate.phases;
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0].name, "x.input_binding");
  EXPECT_EQ(phases[0].kind, Kind::kHostWall);
  EXPECT_EQ(phases[0].total_ns, 406);
  EXPECT_EQ(*phases[0].mean_ns, 101.5);
  EXPECT_EQ(*phases[0].p50_ns, 101.5);
  EXPECT_EQ(phases[1].name, "x.enqueue_host");
  EXPECT_EQ(phases[1].calls, 8U);
  EXPECT_EQ(phases[1].calls_per_run, 2);
  EXPECT_EQ(phases[2].name, "x.synchronize");
  // Of the delegate's call, as DELEGATE_CALL has it.
  EXPECT_EQ(*phases[2].share,
            605.0 * 4 / static_cast<double>(Row(table, "DELEGATE_CALL@0").total_ns));
  EXPECT_EQ(table.ops[delegate.whole_call].name, "x.delegate");
  // Rows of the tree add up as all others do.
  EXPECT_EQ(Row(table, "x.layer_report").parent, delegate.op);
  EXPECT_EQ(Row(table, "DELEGATE_CALL@0").self_ns, 40);
  EXPECT_EQ(Row(table, "x.delegate").self_ns, 80);
}

TEST(Delegates, PhasesThatNobodyAskedForAreNotThere) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.NotedLeaf("x.delegate", 100, WholeNote("blocking"));
  made.Leave();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 1);
  made.Leaf(Category::kOther, "x.delegate", 100);
  made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 2U);
  for (const DelegateResult& delegate : table.delegates) {
    ASSERT_FALSE(delegate.phases);
    EXPECT_EQ(delegate.phases.missing().status, Status::kNotRequested);
    EXPECT_FALSE(delegate.device);
  }
  EXPECT_EQ(table.delegates[0].mode, CallMode::kBlocking);
  EXPECT_EQ(table.delegates[1].mode, CallMode::kUnknown);
  EXPECT_EQ(table.delegates[1].whole_call, kNone);
}

TEST(Delegates, CallsOfTwoModesAreTwoRows) {
  SyntheticProfile made;
  for (int run = 0; run < 4; ++run) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.NotedLeaf("x.delegate", run % 2 == 0 ? 100 : 900,
                   WholeNote(run % 2 == 0 ? "asynchronous" : "synchronized"));
    made.Leave();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 1);
    made.NotedLeaf("y.delegate", 10, WholeNote("asynchronous"));
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 3U);
  EXPECT_EQ(Row(table, "DELEGATE_CALL@0 (asynchronous)").total_ns, 200);
  EXPECT_EQ(Row(table, "DELEGATE_CALL@0 (synchronized)").total_ns, 1800);
  EXPECT_EQ(table.ops[table.delegates[0].op].name, "DELEGATE_CALL@0 (asynchronous)");
  EXPECT_EQ(table.delegates[0].mode, CallMode::kAsynchronous);
  EXPECT_EQ(table.delegates[0].calls_per_run, 0.5);
  // Of one mode, a call's name is as it was.
  EXPECT_EQ(Row(table, "DELEGATE_CALL@1").total_ns, 40);
}

TEST(Delegates, ReportsInThePhasesAreOfTheCallAndCompareWithTheWholeCall) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.EnterNoted("x.delegate");
  made.Wait(1'000'000);
  made.Reported("conv", 600'000);
  made.Reported("conv", 380'000);
  made.Leave();
  made.EnterNoted("x.layer_report", ReportNote(1));
  made.ReportedNoted("late", 10'000, kLayerNote);
  made.Wait(500'000);
  made.Leave();
  made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  const DelegateResult& delegate = table.delegates.at(0);
  ASSERT_EQ(delegate.layers.size(), 3U);
  EXPECT_EQ(delegate.layers[1].name, "conv #2");
  EXPECT_EQ(delegate.layers[1].parent, delegate.op);
  EXPECT_EQ(*delegate.layer_coverage, 0.99);
  EXPECT_EQ(*delegate.layers[0].share, 0.6) << "of the same";
  EXPECT_EQ(table.losses.Get(Loss::kEngineOpsCoverage), 0U);
  EXPECT_FALSE(delegate.layer_error_ns);
}

TEST(Delegates, ADevicesResultIsOfTheCallWhoseNumberItHas) {
  SyntheticProfile made;
  for (int run = 1; run <= 3; ++run) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.EnterNoted("x.delegate", WholeNote("asynchronous", run));
    if (run == 2) {  // one call late
      made.OnDevice("x.device", 1000,
                    R"({"kind":"device","clock":"cuda event","engine":"e","call":1})");
    }
    made.Wait(10);
    made.Leave();
    made.Leave();
    made.EndRun();
  }
  made.OnDevice("x.device", 3000,
                R"({"kind":"device","clock":"cuda event","engine":"e","call":2})");
  // Of another engine, of another name, of no call that is here.
  made.OnDevice("x.device", 77, R"({"kind":"device","engine":"f","call":3})");
  made.OnDevice("x.other", 77, R"({"kind":"device","engine":"e","call":3})");
  made.OnDevice("x.device", 77, R"({"kind":"device","engine":"e","call":4})");
  const OperatorTable table = Build(made);
  const DelegateResult& delegate = table.delegates.at(0);
  ASSERT_TRUE(delegate.device);
  EXPECT_EQ(delegate.device->calls, 2U);
  EXPECT_EQ(delegate.device->missing, 1U);
  EXPECT_EQ(delegate.device->clock, "cuda event");
  EXPECT_EQ(*delegate.device->mean_ns, 2000);
  // It is neither a row nor a layer, and no part of any sum.
  EXPECT_TRUE(delegate.layers.empty());
  for (const OpRow& row : table.ops) EXPECT_EQ(row.kind, Kind::kHostWall) << row.name;
}

TEST(Delegates, AResultBelongsToARunThatGivesRowsOnlyIfItsCallDoes) {
  SyntheticProfile made;
  int call = 0;
  for (const RunMode mode : {RunMode::kSettleOn, RunMode::kPairOn, RunMode::kSettleOn}) {
    made.BeginRun(mode);
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    ++call;
    made.EnterNoted("x.delegate", WholeNote("asynchronous", call));
    made.Wait(10);
    if (call > 1) {
      made.OnDevice("x.device", call == 2 ? 999 : 40,
                    fmt::format(R"({{"kind":"device","engine":"e","call":{}}})", call - 1));
    }
    made.Leave();
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_TRUE(table.delegates.at(0).device);
  EXPECT_EQ(*table.delegates[0].device->mean_ns, 40);
  EXPECT_EQ(table.delegates[0].device->missing, 0U);
}

TEST(Delegates, ADeviceThatNeverAnsweredIsMissingAndNotZero) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.NotedLeaf("x.delegate", 100, WholeNote("asynchronous", 1));
  made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  ASSERT_TRUE(table.delegates.at(0).device);
  const profile::DeviceTime& device = *table.delegates[0].device;
  EXPECT_EQ(device.missing, 1U);
  EXPECT_EQ(device.missing_why, "");
  ASSERT_FALSE(device.mean_ns);
  EXPECT_EQ(device.mean_ns.missing().status, Status::kNotMeasured);
  EXPECT_EQ(device.mean_ns.missing().hint, "no result of the device came");
}

TEST(Delegates, WhatTheDelegateSaysOfALostResultIsKept) {
  SyntheticProfile made;
  for (int call = 1; call <= 2; ++call) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    std::string note = WholeNote("asynchronous", call);
    // Learned in the second call; of which it is, only the numbers tell.
    if (call == 2) note.insert(note.size() - 1, R"(,"device_missing":"no pair was free")");
    made.NotedLeaf("x.delegate", 100, note);
    if (call == 2) made.OnDevice("x.device", 30, R"({"kind":"device","engine":"e","call":1})");
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_TRUE(table.delegates.at(0).device);
  EXPECT_EQ(table.delegates[0].device->missing, 1U);
  EXPECT_EQ(table.delegates[0].device->missing_why, "no pair was free");
}

// An engine that keeps the sum of whole microseconds and tells floor(sum / calls); the delegate
// undoes it as well as that can be done.
class MeanEngine {
 public:
  explicit MeanEngine(int64_t layer_us) : layer_us_(layer_us) {}

  void Run(SyntheticProfile& made, RunMode mode, bool read = true, const char* how = "blocking") {
    made.BeginRun(mode);
    sum_us_ += layer_us_;
    ++calls_;
    if (read) {
      const int64_t known_us = std::max(known_us_, sum_us_ / calls_ * calls_);
      made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
      made.NotedLeaf("x.delegate", layer_us_ * 1000, WholeNote(how));
      made.NotedLeaf("x.layer_report", 500, ReportNote(calls_, calls_ - read_));
      made.ReportedNoted("layer", (known_us - known_us_) * 1000, kMeanNote);
      made.Leave();
      known_us_ = known_us;
      read_ = calls_;
    }
    made.Wait(30'000);
    made.EndRun();
  }
  void SetTime(int64_t layer_us) { layer_us_ = layer_us; }
  [[nodiscard]] int64_t calls() const { return calls_; }

 private:
  int64_t layer_us_;
  int64_t sum_us_ = 0;
  int64_t calls_ = 0;
  int64_t known_us_ = 0;
  int64_t read_ = 0;  // the last call that was
};

TEST(Delegates, LayersOfARunningMeanHaveTheMeanOfAllReadingsAndItsError) {
  SyntheticProfile made;
  MeanEngine engine(40);
  for (int i = 0; i < 50; ++i) engine.Run(made, RunMode::kWarmupOn);
  for (int i = 0; i < 100; ++i) {
    engine.SetTime(i < 50 ? 40 : 60);
    engine.Run(made, RunMode::kSettleOn);
    engine.Run(made, RunMode::kPairOn);
    engine.Run(made, RunMode::kPairOff, false);  // is in the next reading
  }
  const OperatorTable table = Build(made);
  const DelegateResult& delegate = table.delegates.at(0);
  ASSERT_EQ(delegate.layers.size(), 1U);
  const OpRow& layer = delegate.layers[0];
  ASSERT_TRUE(delegate.layer_error_ns);
  ASSERT_TRUE(*delegate.layer_error_ns);
  // From call 52, the first that is profiled, to call 349, the last.
  const double error_ns = 1000.0 * (52 + 349) / (349 - 52 + 1);
  EXPECT_DOUBLE_EQ(**delegate.layer_error_ns, error_ns);
  ASSERT_TRUE(layer.mean_ns);
  EXPECT_NEAR(*layer.mean_ns, 50'000, error_ns);
  EXPECT_NE(*layer.mean_ns, static_cast<double>(layer.total_ns) / 100);  // of profiled runs alone
  EXPECT_DOUBLE_EQ(*layer.share, *layer.mean_ns / 50'000) << "of the whole call, as the coverage";
  // One value alone may be off by 349 us.
  ASSERT_FALSE(layer.p50_ns);
  EXPECT_EQ(layer.p50_ns.missing().status, Status::kBelowResolution);
  EXPECT_NEAR(*delegate.layer_coverage, 1, 0.05);
}

TEST(Delegates, AMeanWithinItsErrorIsBelowResolution) {
  SyntheticProfile made;
  MeanEngine engine(1);
  for (int i = 0; i < 100; ++i) engine.Run(made, RunMode::kWarmupOn);
  for (int i = 0; i < 5; ++i) engine.Run(made, RunMode::kPairOn);
  const OperatorTable table = Build(made);
  const OpRow& layer = table.delegates.at(0).layers.at(0);
  ASSERT_FALSE(layer.mean_ns);
  EXPECT_EQ(layer.mean_ns.missing().status, Status::kBelowResolution);
  EXPECT_EQ(layer.total_ns, 5000);
}

// A coverage that the error of means explains says nothing about the delegate.
TEST(Delegates, TheErrorOfMeansExplainsAnOddCoverage) {
  for (const int calls : {2, 200}) {
    SyntheticProfile made;
    for (int run = 0; run < 2; ++run) {
      made.BeginRun();
      made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
      made.NotedLeaf("x.delegate", 50'000);
      made.NotedLeaf("x.layer_report", 500, ReportNote(calls + run));
      made.ReportedNoted("layer", 1000, kMeanNote);
      made.Leave();
      made.EndRun();
    }
    const OperatorTable table = Build(made);
    EXPECT_EQ(*table.delegates.at(0).layer_coverage, 0.02);
    EXPECT_EQ(table.delegates[0].within_rounding, calls == 200);
    EXPECT_EQ(table.losses.Get(Loss::kEngineOpsCoverage), calls == 200 ? 0U : 1U);
  }
}

TEST(Delegates, FewCallsLeaveTheMedianAsItIs) {
  SyntheticProfile made;
  MeanEngine engine(40);
  for (int i = 0; i < 3; ++i) engine.Run(made, RunMode::kProfiled);
  const OpRow layer = Build(made).delegates.at(0).layers.at(0);
  EXPECT_EQ(*layer.mean_ns, 40'000);
  EXPECT_EQ(*layer.p50_ns, 40'000);
}

// Readings behind a run that lost some are no differences to those before it.
TEST(Delegates, ARunThatLostEventsEndsTheSeriesOfReadings) {
  SyntheticProfile made;
  MeanEngine engine(40);
  for (int i = 0; i < 9; ++i) {
    engine.Run(made, RunMode::kProfiled);
    if (i == 4) made.profile.runs.back().incomplete = true;
  }
  const OperatorTable table = Build(made);
  const DelegateResult& delegate = table.delegates.at(0);
  // Two series, of calls 1 to 4 and 6 to 9.
  EXPECT_DOUBLE_EQ(**delegate.layer_error_ns, 1000.0 * (1 + 4 + 6 + 9) / 8);
  EXPECT_EQ(*delegate.layers[0].mean_ns, 40'000);
}

// An ETDump holds the profiled runs alone; the engine was read in others, too.
TEST(Delegates, CallsOfReadingsThatAreNotHereAreInNoMean) {
  SyntheticProfile all;
  SyntheticProfile second;
  SyntheticProfile elsewhere;
  MeanEngine engines[] = {MeanEngine(40'000), MeanEngine(40'000)};
  for (int i = 0; i < 48; ++i) {
    for (MeanEngine& engine : engines) engine.SetTime(i % 4 < 2 ? 44'000 : 40'000);
    engines[0].Run(all, RunMode::kProfiled);
    engines[1].Run(i % 2 == 0 ? second : elsewhere, RunMode::kProfiled);
  }
  const DelegateResult whole = Build(all).delegates.at(0);
  const DelegateResult half = Build(second).delegates.at(0);
  ASSERT_TRUE(whole.layers.at(0).mean_ns && half.layers.at(0).mean_ns);
  EXPECT_DOUBLE_EQ(**whole.layer_error_ns, 1000.0 * (1 + 48) / 48);
  // Calls 1, 3, ... 47, each with two ends.
  EXPECT_DOUBLE_EQ(**half.layer_error_ns, 1000.0 * 2 * 24);
  EXPECT_NEAR(*half.layers[0].mean_ns, *whole.layers[0].mean_ns,
              **whole.layer_error_ns + **half.layer_error_ns);
  EXPECT_NEAR(*half.layers[0].mean_ns, 42'000'000, **half.layer_error_ns);
}

// The engine's list of layers changed: this reading has none, and the next begins anew.
TEST(Delegates, AReadingWithoutLayersEndsTheSeries) {
  SyntheticProfile made;
  for (int call = 1; call <= 4; ++call) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.NotedLeaf("x.layer_report", 500, ReportNote(call, call == 2 ? 0 : 1));
    if (call != 2) made.ReportedNoted("layer", 40'000, kMeanNote);
    made.Leave();
    made.EndRun();
  }
  const DelegateResult delegate = Build(made).delegates.at(0);
  EXPECT_DOUBLE_EQ(**delegate.layer_error_ns, 1000.0 * (1 + 1 + 3 + 4) / 3);
}

TEST(Delegates, EachProcessHasAnEngineOfItsOwn) {
  SyntheticProfile made;
  MeanEngine engines[] = {MeanEngine(40), MeanEngine(40)};
  for (int i = 0; i < 10; ++i) {
    for (uint16_t process = 0; process < 2; ++process) {
      engines[process].Run(made, RunMode::kProfiled);
      made.profile.runs.back().process = process;
    }
  }
  const DelegateResult delegate = Build(made).delegates.at(0);
  EXPECT_DOUBLE_EQ(**delegate.layer_error_ns, 1000.0 * 2 * (1 + 10) / 20);
  EXPECT_EQ(*delegate.layers[0].mean_ns, 40'000);
}

// Then a row's readings are no differences to one another.
TEST(Delegates, CallsOfTwoModesInTurnShareAnEnginesSum) {
  SyntheticProfile made;
  MeanEngine engine(40);
  for (int i = 0; i < 4; ++i) {
    engine.Run(made, RunMode::kProfiled, true, i % 2 == 0 ? "blocking" : "synchronized");
  }
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 2U);
  // Calls 1 and 3; each value stands between two ends. It is half a call a run.
  EXPECT_DOUBLE_EQ(**table.delegates[0].layer_error_ns, 1000.0 * (1 + 1 + 3 + 3) / 2 / 2);
}

TEST(Delegates, LayersOfAsynchronousCallsHaveNoShareOfThem) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.NotedLeaf("x.delegate", 100, WholeNote("asynchronous"));
  made.ReportedNoted("layer", 40'000, kLayerNote);
  made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  EXPECT_FALSE(table.delegates.at(0).layer_coverage);
  EXPECT_FALSE(table.delegates[0].layers.at(0).share);
  EXPECT_FALSE(Row(table, "layer").share);
  EXPECT_EQ(table.losses.Get(Loss::kEngineOpsCoverage), 0U);
}

TEST(Delegates, WithoutTheNumberOfCallsTheErrorIsNotKnown) {
  SyntheticProfile made;
  for (int i = 0; i < 2; ++i) {
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(50'000);
    made.ReportedNoted("layer", 40'000, kMeanNote);
    made.Leave();
    made.EndRun();
  }
  const DelegateResult delegate = Build(made).delegates.at(0);
  ASSERT_TRUE(delegate.layer_error_ns);
  EXPECT_FALSE(*delegate.layer_error_ns);
  EXPECT_EQ(*delegate.layers[0].mean_ns, 40'000);
}

TEST(Delegates, TheRunIsSplitAtTheirBordersWithoutRest) {
  SyntheticProfile made;
  for (int run = 0; run < 2; ++run) {
    made.BeginRun();
    made.Wait(3);
    made.Leaf(Category::kSetInputs, "set_inputs", 5);
    made.Enter(Category::kScope, "mine");
    made.Wait(2);
    made.Enter(Category::kMethod, "Method::execute");
    made.Wait(7);
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.NotedLeaf("x.delegate", 100);
    made.Wait(1);
    made.Leave();
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", 1);
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 2);  // in the kernel's time
    made.Wait(50);
    made.Leave();
    made.Leave();
    made.Leave();
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_TRUE(table.delegate_summary);
  const profile::DelegateSummary& summary = *table.delegate_summary;
  EXPECT_EQ(*summary.delegates_ns, 101);
  EXPECT_EQ(*summary.kernels_ns, 50);
  EXPECT_EQ(*summary.other_ns, 5 + 2 + 7);  // the method in a scope is a row of its own
  EXPECT_EQ(*summary.unattributed_ns, 3);
  EXPECT_EQ(*summary.delegates_ns + *summary.kernels_ns + *summary.other_ns + *summary.between_ns +
                *summary.unattributed_ns,
            table.mean_ns);
}

// A runtime whose tracer is not built in tells of no instruction.
TEST(Delegates, WithoutAnInstructionAroundItTheWholeCallIsTheCall) {
  SyntheticProfile made;
  for (int run = 1; run <= 2; ++run) {
    made.BeginRun();
    made.Wait(100);
    for (const char* prefix : {"x", "y"}) {
      const std::string name = prefix;
      made.EnterNoted(name + ".delegate", WholeNote("blocking", run));
      made.NotedLeaf(name + ".infer_host", 50'000);
      made.Leave();
      made.NotedLeaf(name + ".layer_report", 200, ReportNote(run));
      made.ReportedNoted(name + "1", 30'000, kMeanNote);
      made.ReportedNoted(name + "2", 19'000, kMeanNote);
      made.OnDevice(name + ".device", 7,
                    fmt::format(R"({{"kind":"device","engine":"e","call":{}}})", run));
    }
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 2U);
  for (const DelegateResult& delegate : table.delegates) {
    const std::string prefix = delegate.backend.substr(0, 1);
    EXPECT_EQ(delegate.backend, prefix + ".delegate");
    EXPECT_EQ(delegate.whole_call, delegate.op);
    EXPECT_EQ(delegate.mode, CallMode::kBlocking);
    ASSERT_TRUE(delegate.phases);
    EXPECT_EQ(delegate.phases->at(0).name, prefix + ".infer_host");
    ASSERT_EQ(delegate.layers.size(), 2U);
    EXPECT_EQ(delegate.layers[0].name, prefix + "1");
    EXPECT_EQ(*delegate.layer_coverage, 0.98);
    EXPECT_DOUBLE_EQ(**delegate.layer_error_ns, 1500);
    EXPECT_EQ(*delegate.device->mean_ns, 7);
  }
  EXPECT_EQ(*table.delegate_summary->delegates_ns, 100'000);
  EXPECT_EQ(*table.delegate_summary->other_ns, 400);
}

TEST(Delegates, WithoutThemTheRunIsNotSplit) {
  SyntheticProfile made;
  made.BeginRun();
  made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 10, 0);
  made.EndRun();
  EXPECT_FALSE(Build(made).delegate_summary);
}

// Notes of a damaged file: a call in a phase in a call, a whole call around it all.
TEST(Delegates, NestedOddlyTheyStillAddUp) {
  SyntheticProfile made;
  made.BeginRun();
  for (int i = 0; i < 20; ++i) {
    made.EnterNoted("x.delegate", WholeNote(i % 2 == 0 ? "blocking" : "asynchronous", i + 1));
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(1);
    made.ReportedNoted("layer", 5, kMeanNote);
    made.OnDevice("x.device", 5, R"({"kind":"device","engine":"e","call":3})");
  }
  for (int i = 0; i < 40; ++i) made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  EXPECT_EQ(table.delegates.size(), 21U);  // with the one around it all
  EXPECT_EQ(*table.delegate_summary->delegates_ns, 20);
}

}  // namespace
}  // namespace inferprobe::analyze
