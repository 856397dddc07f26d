#include "analyze/modules.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::kNone;
using profile::Metric;
using profile::Module;
using profile::ModuleOperator;
using profile::ModuleReport;
using profile::ModuleRow;
using profile::RunMode;
using profile::Status;

std::string Text(const Metric<int64_t>& figure) {
  if (figure) return std::to_string(*figure);
  return std::string(StatusName(figure.missing().status)) + " (" + figure.missing().hint + ")";
}
// "self + operators + children = total"
std::string Times(const ModuleRow& row) {
  return Text(row.self_ns) + " + " + Text(row.operators_ns) + " + " + Text(row.children_ns) +
         " = " + Text(row.total_ns);
}
std::string Times(const ModuleOperator& row) {
  return row.name + ": " + std::to_string(row.calls) + " calls, " + std::to_string(row.self_ns) +
         " of " + std::to_string(row.total_ns);
}

// A root with two children, "a" with a child of its own, and a profile to fill.
class ModulesTest : public testing::Test {
 protected:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kA = 1;
  static constexpr uint32_t kAx = 2;
  static constexpr uint32_t kB = 3;

  ModulesTest() {
    AddModule("", "Net", kNone);
    AddModule("a", "Block", kRoot);
    AddModule("a.x", "Linear", kA);
    AddModule("b", "Linear", kRoot);
    model_.modules.operators = true;
    model_.modules.memory = true;
  }

  void AddModule(const std::string& path, const std::string& class_name, uint32_t parent) {
    Module module;
    module.path = path;
    module.class_name = class_name;
    module.parent = parent;
    model_.modules.tree.push_back(module);
  }
  void EnterModule(uint32_t module, bool raised = false) { made_.EnterModule(module, raised); }
  uint32_t EnterOperator(const char* name) { return made_.Enter(Category::kOperator, name); }
  void Operator(const char* name, int64_t ns) { made_.Leaf(Category::kOperator, name, ns); }
  void Wait(int64_t ns) { made_.Wait(ns); }
  void Leave() { made_.Leave(); }
  ModuleReport Report() {
    auto report = AnalyzeModules(made_.profile, model_);
    EXPECT_TRUE(report);
    return report ? *report : ModuleReport{};
  }

  profile::ModelFacts model_;
  SyntheticProfile made_;
};

TEST_F(ModulesTest, OnlyAModelWithModulesHasARow) {
  const auto report = AnalyzeModules(made_.profile, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.missing().status, Status::kUnsupported);
  EXPECT_EQ(report.missing().hint, "only models of PyTorch have modules");
}

TEST_F(ModulesTest, AModelWhoseModulesAreHiddenSaysWhy) {
  profile::ModelFacts model;
  model.modules.not_covered = {{"modules", "an AOTInductor package is opaque"}};
  const auto report = AnalyzeModules(made_.profile, model);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.missing().hint, "an AOTInductor package is opaque");
}

TEST_F(ModulesTest, EveryTimeIsOfTheInnermostModule) {
  EnterModule(kRoot);
  Wait(1);
  Operator("aten::relu", 2);  // functional code in the root's forward
  EnterModule(kA);
  Wait(4);
  EnterModule(kAx);
  Wait(8);
  EnterOperator("aten::linear");
  Wait(16);
  Operator("aten::addmm", 32);
  Leave();
  Leave();
  Leave();
  EnterModule(kB);
  Operator("aten::linear", 64);
  Leave();
  Leave();
  Operator("aten::mean", 128);  // in no module

  const ModuleReport report = Report();
  ASSERT_EQ(report.rows.size(), 4U);
  EXPECT_EQ(Times(report.rows[kRoot]), "1 + 2 + 124 = 127");
  EXPECT_EQ(Times(report.rows[kA]), "4 + 0 + 56 = 60");
  EXPECT_EQ(Times(report.rows[kAx]), "8 + 48 + 0 = 56");
  EXPECT_EQ(Times(report.rows[kB]), "0 + 64 + 0 = 64");
  EXPECT_EQ(report.total_ns, 127);
  EXPECT_EQ(report.outside_ns, 128);
  ASSERT_EQ(report.outside.size(), 1U);
  EXPECT_EQ(Times(report.outside[0]), "aten::mean: 1 calls, 128 of 128");
  ASSERT_EQ(report.rows[kAx].operators.size(), 2U);
  EXPECT_EQ(Times(report.rows[kAx].operators[0]), "aten::linear: 1 calls, 16 of 48");
  EXPECT_EQ(Times(report.rows[kAx].operators[1]), "aten::addmm: 1 calls, 32 of 32");
  EXPECT_DOUBLE_EQ(*report.rows[kA].share, 60.0 / 127);
  EXPECT_EQ(report.rows[kRoot].depth, 0U);
  EXPECT_EQ(report.rows[kAx].depth, 2U);
  EXPECT_EQ(report.rows[kAx].facts.path, "a.x");
  EXPECT_EQ(report.rows[kAx].module, kAx);
  EXPECT_TRUE(report.facts.tree.empty());
}

TEST_F(ModulesTest, AModuleThatCallsItselfCountsOnceInItsTotal) {
  EnterModule(kA);
  Wait(1);
  EnterModule(kB);  // and through another
  Wait(2);
  EnterModule(kA);
  Wait(4);
  EnterModule(kA);
  Operator("aten::add", 8);
  Leave();
  Leave();
  Leave();
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(report.rows[kA].calls, 3U);
  EXPECT_EQ(report.rows[kA].outermost_calls, 1U);
  EXPECT_EQ(report.rows[kB].outermost_calls, 1U);
  EXPECT_EQ(Times(report.rows[kA]), "5 + 8 + 2 = 15");
  EXPECT_EQ(Times(report.rows[kB]), "2 + 0 + 12 = 14");
  EXPECT_EQ(report.total_ns, 15);
}

// On another thread than the operators that were recorded: nobody saw what it called and allocated.
TEST_F(ModulesTest, WhatRanWhereNobodyLookedHasNoOperatorsAndNoMemory) {
  const std::string unseen =
      "unavailable (it ran on threads of which torch records no operators, nor their memory)";
  made_.profile.tracks[0].tid = 7;
  EnterModule(kRoot);
  EnterModule(kA);
  Operator("aten::relu", 2);
  made_.profile.allocations.push_back({1, 64, 2, false});
  Leave();
  Leave();
  made_.profile.tracks.push_back(made_.profile.tracks[0]);
  made_.profile.tracks.back().tid = 8;
  profile::Slice& elsewhere = made_.profile.slices.emplace_back(made_.profile.slices[1]);
  elsewhere.track = static_cast<uint16_t>(made_.profile.tracks.size() - 1);
  elsewhere.parent = kNone;

  EXPECT_EQ(Times(Report().rows[kA]), "2 + 2 + 0 = 4");  // all threads were seen
  model_.modules.seen_thread = 7;
  const ModuleReport report = Report();
  EXPECT_EQ(report.facts.seen_thread, 7);
  EXPECT_EQ(Times(report.rows[kRoot]), "0 + 0 + 2 = 2");
  EXPECT_EQ(Text(report.rows[kRoot].total_cpu_bytes), "64");
  const ModuleRow& row = report.rows[kA];
  EXPECT_EQ(Times(row), unseen + " + " + unseen + " + 0 = 4");
  for (const auto* figure :
       {&row.self_cpu_bytes, &row.total_cpu_bytes, &row.allocated_bytes, &row.freed_bytes}) {
    EXPECT_EQ(Text(*figure), unseen);
  }
  EXPECT_EQ(Text(row.self_device_bytes), "not_requested ()");
  EXPECT_DOUBLE_EQ(*row.share, 4.0 / 4);
}

TEST_F(ModulesTest, WorkOfADeviceThatNobodyLaunchedIsSaid) {
  model_.modules.device = true;
  EnterModule(kA);
  Operator("aten::mm", 2);
  Leave();
  profile::Slice work;
  work.category = Category::kDeviceWork;
  made_.profile.tracks.push_back({});
  made_.profile.tracks.back().kind = profile::Kind::kDevice;
  work.track = static_cast<uint16_t>(made_.profile.tracks.size() - 1);
  work.dur_ns = 300;
  work.parent = 1;  // the operator
  made_.profile.slices.push_back(work);
  EXPECT_TRUE(Report().facts.not_covered.empty());
  work.parent = kNone;
  work.dur_ns = 40;
  made_.profile.slices.push_back(work);
  const ModuleReport report = Report();
  EXPECT_EQ(Text(report.rows[kA].total_device_ns), "300");
  ASSERT_EQ(report.facts.not_covered.size(), 1U);
  EXPECT_EQ(report.facts.not_covered[0].what, "40.0 ns of work on the device");
  model_.modules.device = {Status::kNotRequested, ""};
  EXPECT_TRUE(Report().facts.not_covered.empty());
}

// Of a run on track 0, what another thread did meanwhile; the recorder lists it elsewhere.
TEST_F(ModulesTest, CallsOfOtherThreadsAreInTheRunByTheirTime) {
  EnterModule(kA);
  Wait(10);
  Leave();
  profile::Profile& profile = made_.profile;
  const int64_t start_ns = profile.slices[0].start_ns;
  profile::Run run;
  run.mode = RunMode::kProfiled;
  run.start_ns = start_ns;
  run.dur_ns = 10;
  run.first_slice = 0;
  run.slice_count = 1;
  profile.runs.push_back(run);
  run.mode = RunMode::kWarmup;
  run.start_ns = start_ns + 100;
  run.first_slice = run.slice_count = 0;
  profile.runs.push_back(run);
  profile.tracks.push_back(profile.tracks[0]);
  const auto add = [&](int64_t start, int64_t dur_ns) {
    profile::Slice& slice = profile.slices.emplace_back(profile.slices[0]);
    slice.track = static_cast<uint16_t>(profile.tracks.size() - 1);
    slice.start_ns = start_ns + start;
    slice.dur_ns = dur_ns;
  };
  add(0, 10);
  add(3, 2);
  add(100, 10);  // in the warm-up, which gives no rows
  EXPECT_EQ(Report().rows[kA].calls, 3U);
  EXPECT_TRUE(Report().facts.not_covered.empty());
  add(-1, 2);
  add(9, 2);
  add(50, 2);
  const ModuleReport report = Report();
  EXPECT_EQ(report.rows[kA].calls, 3U);
  ASSERT_EQ(report.facts.not_covered.size(), 1U);
  EXPECT_EQ(report.facts.not_covered[0].what, "3 calls of modules");
}

TEST_F(ModulesTest, AModuleWithTwoParentsHasOneRow) {
  EnterModule(kRoot);
  EnterModule(kB);
  Wait(1);
  Leave();
  EnterModule(kA);
  EnterModule(kB);
  Wait(2);
  Leave();
  Leave();
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(report.rows[kB].calls, 2U);
  EXPECT_EQ(Times(report.rows[kB]), "3 + 0 + 0 = 3");
  EXPECT_EQ(Times(report.rows[kA]), "0 + 0 + 2 = 2");
  EXPECT_EQ(Times(report.rows[kRoot]), "0 + 0 + 3 = 3");
}

TEST_F(ModulesTest, CallsThatRaisedAreCounted) {
  EnterModule(kA);
  EnterModule(kAx, true);
  Wait(1);
  Leave();
  Leave();
  EnterModule(kAx);
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(report.rows[kAx].calls, 2U);
  EXPECT_EQ(report.rows[kAx].raised, 1U);
  EXPECT_EQ(report.rows[kA].raised, 0U);
}

TEST_F(ModulesTest, ThreadsAddUp) {
  EnterModule(kA);
  Wait(1);
  Leave();
  made_.UseThread(2);
  EnterModule(kA);
  Wait(2);
  Leave();
  // Damaged: its parent is on another thread.
  EnterModule(kB);
  made_.UseThread(1);
  Operator("aten::add", 4);
  made_.UseThread(2);
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(Times(report.rows[kA]), "3 + 0 + 0 = 3");
  EXPECT_EQ(Times(report.rows[kB]), "4 + 0 + 0 = 4");
  EXPECT_EQ(report.total_ns, 7);
  EXPECT_EQ(report.outside_ns, 4);
}

TEST_F(ModulesTest, AnOperatorMayContainModules) {
  EnterModule(kRoot);
  EnterOperator("Checkpoint");
  Wait(1);
  EnterModule(kA);
  Wait(2);
  EnterOperator("Checkpoint");  // of another module: a row of its own
  Wait(4);
  Leave();
  EnterModule(kRoot);
  EnterOperator("Checkpoint");  // inside one of its name that the same module called
  Wait(8);
  Leave();
  Leave();
  Leave();
  Leave();
  Leave();
  EnterOperator("outside");
  Wait(16);
  EnterModule(kB);
  Wait(32);
  Leave();
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(Times(report.rows[kRoot]), "0 + 9 + 6 = 15");
  EXPECT_EQ(Times(report.rows[kA]), "2 + 4 + 8 = 14");
  ASSERT_EQ(report.rows[kRoot].operators.size(), 1U);
  EXPECT_EQ(Times(report.rows[kRoot].operators[0]), "Checkpoint: 2 calls, 9 of 15");
  ASSERT_EQ(report.rows[kA].operators.size(), 1U);
  EXPECT_EQ(Times(report.rows[kA].operators[0]), "Checkpoint: 1 calls, 4 of 4");
  EXPECT_EQ(report.total_ns, 47);
  EXPECT_EQ(report.outside_ns, 16);
  EXPECT_EQ(Times(report.outside[0]), "outside: 1 calls, 16 of 48");
}

TEST_F(ModulesTest, OtherSlicesAreTheModulesOwnCode) {
  EnterModule(kA);
  made_.Enter(Category::kScope, "tokenize");
  Wait(1);
  Operator("aten::add", 2);
  made_.Allocation(10);
  Leave();
  EnterModule(77);  // of no module of the tree
  Wait(4);
  EnterModule(kAx);
  Wait(8);
  Leave();
  Leave();
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(Times(report.rows[kA]), "5 + 2 + 8 = 15");
  EXPECT_EQ(Times(report.rows[kAx]), "8 + 0 + 0 = 8");
  EXPECT_EQ(Text(report.rows[kA].self_cpu_bytes), "10");
}

TEST_F(ModulesTest, MemoryIsOfWhatAllocatedIt) {
  EnterModule(kRoot);
  EnterModule(kA);
  EnterModule(kAx);
  EnterOperator("aten::empty");
  made_.Allocation(100);
  made_.Allocation(7, true);
  Leave();
  made_.Allocation(-30);
  Leave();
  EnterOperator("aten::linear");
  made_.Allocation(1);
  EnterOperator("aten::empty");
  made_.Allocation(1000);
  Leave();
  Leave();
  Leave();
  made_.Allocation(-5);
  Leave();
  made_.Allocation(1 << 20);  // outside all
  model_.modules.device = true;
  const ModuleReport report = Report();
  const auto bytes = [&](uint32_t module) {
    const ModuleRow& row = report.rows[module];
    return Text(row.self_cpu_bytes) + " of " + Text(row.total_cpu_bytes) + ", device " +
           Text(row.self_device_bytes) + " of " + Text(row.total_device_bytes) + ", +" +
           Text(row.allocated_bytes) + " -" + Text(row.freed_bytes);
  };
  EXPECT_EQ(bytes(kRoot), "-5 of 1066, device 0 of 7, +1108 -35");
  EXPECT_EQ(bytes(kA), "1001 of 1071, device 0 of 7, +1108 -30");
  EXPECT_EQ(bytes(kAx), "70 of 70, device 7 of 7, +107 -30");
  const ModuleOperator& linear = report.rows[kA].operators[0];
  EXPECT_EQ(linear.name, "aten::linear");
  EXPECT_EQ(Text(linear.self_cpu_bytes), "1");
  EXPECT_EQ(Text(linear.total_cpu_bytes), "1001");
  EXPECT_EQ(Text(report.rows[kAx].operators[0].self_device_bytes), "7");
}

// A module that is in its own call is one module around what is allocated there.
TEST_F(ModulesTest, MemoryInRecursionIsCountedOnce) {
  EnterModule(kA);
  EnterModule(kA);
  made_.Allocation(8);
  Leave();
  Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(Text(report.rows[kA].self_cpu_bytes), "8");
  EXPECT_EQ(Text(report.rows[kA].total_cpu_bytes), "8");
  EXPECT_EQ(Text(report.rows[kA].allocated_bytes), "8");
}

TEST_F(ModulesTest, DeviceWorkIsOfTheModulesThatLaunchedIt) {
  EnterModule(kRoot);
  EnterModule(kA);
  const uint32_t launch = EnterOperator("aten::linear");
  Wait(1);
  Leave();
  Leave();
  Leave();
  made_.DeviceWork(launch, "gemm", 500);
  made_.DeviceWork(launch, "copy", 50);
  made_.DeviceWork(kNone, "unknown", 5);
  model_.modules.device = true;
  const ModuleReport report = Report();
  EXPECT_EQ(Text(report.rows[kA].self_device_ns), "550");
  EXPECT_EQ(Text(report.rows[kRoot].self_device_ns), "0");
  EXPECT_EQ(Text(report.rows[kRoot].total_device_ns), "550");
  EXPECT_EQ(Text(report.rows[kA].operators[0].self_device_ns), "550");
  EXPECT_EQ(Times(report.rows[kA]), "0 + 1 + 0 = 1");  // host times do not know of it
}

TEST_F(ModulesTest, WhereCallsWereDroppedNobodyKnowsWhatWasCalled) {
  EnterModule(kA);
  Wait(3);
  Leave();
  Operator("aten::add", 4);  // of a module whose call was dropped
  for (const profile::Loss loss : {profile::Loss::kRingDropped, profile::Loss::kNoRing}) {
    made_.profile.losses = {};
    EXPECT_TRUE(Report().facts.not_covered.empty());
    EXPECT_EQ(Text(Report().rows[kB].total_ns), "not_measured (not called)");
    made_.profile.losses.Add(loss);
    const ModuleReport report = Report();
    EXPECT_EQ(Times(report.rows[kA]), "3 + 0 + 0 = 3");
    EXPECT_EQ(Text(report.rows[kB].total_ns),
              "not_measured (not recorded: calls of modules were dropped)");
    EXPECT_EQ(report.outside_ns, 4);
    ASSERT_EQ(report.facts.not_covered.size(), 1U);
    EXPECT_EQ(report.facts.not_covered[0].why,
              "their time and operators are of the module around, or in no module");
  }
}

TEST_F(ModulesTest, WhatWasNotRecordedHasNoFigure) {
  EnterModule(kA);
  Wait(3);
  Operator("aten::add", 4);  // as an outer profile recorded it, not this one
  Leave();
  EnterModule(kB);
  Wait(1);
  Leave();
  model_.modules.operators = {Status::kNotRequested, "detail=\"ops\""};
  model_.modules.memory = {Status::kNotRequested, "memory=True"};
  model_.modules.device = {Status::kUnavailable, "no device"};
  model_.modules.tree[kRoot].chosen = false;
  model_.modules.tree[kB].not_covered = "";
  model_.modules.tree[kAx].not_covered = "a ScriptModule";
  AddModule("c", "Linear", kRoot);
  const ModuleReport report = Report();
  EXPECT_EQ(Times(report.rows[kA]), "7 + not_requested (detail=\"ops\") + 0 = 7");
  EXPECT_TRUE(report.rows[kA].operators.empty());
  EXPECT_EQ(Text(report.rows[kA].allocated_bytes), "not_requested (memory=True)");
  EXPECT_EQ(Text(report.rows[kA].self_device_bytes), "not_requested (memory=True)");
  EXPECT_EQ(Text(report.rows[kA].total_device_ns), "unavailable (no device)");
  EXPECT_EQ(Text(report.rows[kRoot].total_ns), "not_requested (not chosen)");
  EXPECT_EQ(Text(report.rows[kAx].total_ns), "unsupported (a ScriptModule)");
  EXPECT_EQ(Text(report.rows[4].total_ns), "not_measured (not called)");
  EXPECT_EQ(Text(report.rows[4].freed_bytes), "not_measured (not called)");
  EXPECT_FALSE(report.rows[4].share);
  EXPECT_FALSE(report.facts.operators);
  EXPECT_EQ(report.total_ns, 8);

  model_.modules.memory = true;
  const ModuleReport with_memory = Report();
  EXPECT_EQ(Text(with_memory.rows[kA].self_cpu_bytes), "0");
  EXPECT_EQ(Text(with_memory.rows[kA].self_device_bytes), "unavailable (no device)");
}

TEST_F(ModulesTest, WhereRunsGiveRowsOnlyTheirCallsCount) {
  const auto call = [&](int64_t ns) {
    EnterModule(kA);
    Wait(ns);
    Leave();
  };
  call(1);
  made_.BeginRun(RunMode::kLatency);
  call(2);
  made_.EndRun();
  EXPECT_EQ(Text(Report().rows[kA].total_ns), "3");

  for (const int64_t ns : {4, 8, 16}) {
    made_.BeginRun(RunMode::kPairOn);
    call(ns);
    made_.EndRun();
  }
  EXPECT_EQ(Text(Report().rows[kA].total_ns), "28");
  made_.profile.runs[2].incomplete = true;
  EXPECT_EQ(Text(Report().rows[kA].total_ns), "20");
  made_.profile.runs[2].incomplete = false;
  made_.profile.runs.push_back(made_.profile.runs[2]);  // damaged: counted once
  EXPECT_EQ(Text(Report().rows[kA].total_ns), "28");
  for (profile::Run& run : made_.profile.runs) run.incomplete = true;
  EXPECT_EQ(Text(Report().rows[kA].total_ns), "unavailable (no run is whole, each lost events)");
}

TEST_F(ModulesTest, HostileRecordingsGiveNoMadeUpFigure) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 3; ++i) {
    EnterModule(kA);
    made_.Allocation(kMost);
    made_.Allocation(std::numeric_limits<int64_t>::min());
    Leave();
    made_.profile.slices.back().dur_ns = kMost;
  }
  EnterModule(kB);
  Leave();
  made_.profile.slices.back().dur_ns = -5;
  // A circle is in no tree, and ends the search for what is around it.
  const uint32_t first = EnterOperator("circle");
  EnterOperator("circle");
  Leave();
  Leave();
  made_.profile.slices[first].parent = first + 1;
  made_.profile.allocations.push_back({0, 1, first, false});
  model_.modules.tree[kAx].parent = 3;  // behind it
  const ModuleReport report = Report();
  EXPECT_EQ(Text(report.rows[kA].total_ns), "overflow (the sum of its times does not fit 64 bits)");
  EXPECT_EQ(Text(report.rows[kA].allocated_bytes), "overflow (the sum does not fit 64 bits)");
  EXPECT_FALSE(report.rows[kA].share);
  EXPECT_EQ(Times(report.rows[kB]), "0 + 0 + 0 = 0");
  EXPECT_TRUE(report.outside.empty());
  EXPECT_EQ(report.rows[kAx].depth, 0U);
}

TEST_F(ModulesTest, DeepRecursionIsNotQuadratic) {
  constexpr int kDeep = 300'000;
  for (int i = 0; i < kDeep; ++i) {
    EnterModule(kA);
    made_.Enter(Category::kScope, "scope");
    made_.Allocation(1);
  }
  Wait(1);
  for (int i = 0; i < 2 * kDeep; ++i) Leave();
  const ModuleReport report = Report();
  EXPECT_EQ(report.rows[kA].calls, uint64_t{kDeep});
  EXPECT_EQ(Text(report.rows[kA].total_cpu_bytes), std::to_string(kDeep));
}

// Random trees of calls on three threads, against a count of every single nanosecond.
class RandomCalls : public ModulesTest {
 protected:
  struct OpenCall {
    uint32_t module = kNone;
    std::string name;
  };
  struct Expected {
    uint64_t calls = 0;
    int64_t self_ns = 0, operators_ns = 0, children_ns = 0, total_ns = 0;
    int64_t self_bytes = 0, total_bytes = 0;
    std::map<std::string, std::pair<int64_t, int64_t>> operators;  // self, total
  };

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  static uint32_t InnermostModule(const std::vector<OpenCall>& stack) {
    for (auto call = stack.rbegin(); call != stack.rend(); ++call) {
      if (call->module != kNone) return call->module;
    }
    return kNone;
  }
  static std::set<uint32_t> ModulesOf(const std::vector<OpenCall>& stack) {
    std::set<uint32_t> modules;
    for (const OpenCall& call : stack) {
      if (call.module != kNone) modules.insert(call.module);
    }
    return modules;
  }

  void OneNanosecond() {
    Wait(1);
    const uint32_t innermost = InnermostModule(stack_);
    const std::set<uint32_t> around = ModulesOf(stack_);
    for (const uint32_t module : around) {
      ++expected_[module].total_ns;
      if (module != innermost) ++expected_[module].children_ns;
    }
    total_ns_ += around.empty() ? 0 : 1;
    if (stack_.empty()) return;
    const bool in_operator = stack_.back().module == kNone;
    if (innermost != kNone) {
      ++(in_operator ? expected_[innermost].operators_ns : expected_[innermost].self_ns);
    } else {
      ++outside_ns_;
    }
    if (in_operator) ++expected_[innermost].operators[stack_.back().name].first;
    std::set<std::pair<uint32_t, std::string>> names;
    uint32_t module = kNone;
    for (const OpenCall& call : stack_) {
      if (call.module != kNone) {
        module = call.module;
      } else {
        names.insert({module, call.name});
      }
    }
    for (const auto& [owner, name] : names) ++expected_[owner].operators[name].second;
  }

  void Allocate() {
    const int64_t bytes = Between(-100, 100);
    made_.Allocation(bytes);
    if (const uint32_t innermost = InnermostModule(stack_); innermost != kNone) {
      expected_[innermost].self_bytes += bytes;
    }
    for (const uint32_t module : ModulesOf(stack_)) expected_[module].total_bytes += bytes;
  }

  void Call(int depth) {
    for (int64_t ns = Between(0, 3); ns > 0; --ns) OneNanosecond();
    if (depth == 0) return;
    OpenCall call;
    if (Between(0, 1) == 0) {
      call.module = static_cast<uint32_t>(Between(0, 3));
      ++expected_[call.module].calls;
      made_.EnterModule(call.module);
    } else {
      call.name = "op" + std::to_string(Between(0, 2));
      made_.Enter(Category::kOperator, call.name);
    }
    stack_.push_back(call);
    if (Between(0, 3) == 0) Allocate();
    for (int64_t i = Between(0, 3); i > 0; --i) Call(depth - 1);
    for (int64_t ns = Between(0, 3); ns > 0; --ns) OneNanosecond();
    if (Between(0, 3) == 0) Allocate();
    stack_.pop_back();
    Leave();
  }

  std::mt19937_64 random_{5};
  std::vector<OpenCall> stack_;
  std::map<uint32_t, Expected> expected_;
  int64_t total_ns_ = 0;
  int64_t outside_ns_ = 0;
};

TEST_F(RandomCalls, AreCountedToTheNanosecond) {
  for (int round = 0; round < 200; ++round) {
    made_.UseThread(static_cast<size_t>(Between(1, 3)));
    Call(7);
    ASSERT_TRUE(stack_.empty());
    if (round % 20 != 19) continue;
    const ModuleReport report = Report();
    EXPECT_EQ(report.total_ns, total_ns_);
    EXPECT_EQ(report.outside_ns, outside_ns_);
    for (uint32_t module = 0; module < 4; ++module) {
      const ModuleRow& row = report.rows[module];
      const Expected& expected = expected_[module];
      ASSERT_EQ(row.calls, expected.calls);
      if (row.calls == 0) continue;
      EXPECT_EQ(*row.self_ns, expected.self_ns);
      EXPECT_EQ(*row.operators_ns, expected.operators_ns);
      EXPECT_EQ(*row.children_ns, expected.children_ns);
      EXPECT_EQ(*row.total_ns, expected.total_ns);
      EXPECT_EQ(*row.self_ns + *row.operators_ns + *row.children_ns, *row.total_ns);
      EXPECT_EQ(*row.self_cpu_bytes, expected.self_bytes);
      EXPECT_EQ(*row.total_cpu_bytes, expected.total_bytes);
    }
    for (const auto& [module, expected] : expected_) {
      const auto& operators = module == kNone ? report.outside : report.rows[module].operators;
      for (const ModuleOperator& one : operators) {
        const auto found = expected.operators.find(one.name);
        const auto times =
            found == expected.operators.end() ? std::pair<int64_t, int64_t>{} : found->second;
        EXPECT_EQ(std::pair(one.self_ns, one.total_ns), times) << module << " " << one.name;
      }
    }
  }
}

}  // namespace
}  // namespace inferprobe::analyze
