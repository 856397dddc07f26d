#include "analyze/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "analyze/row_table.h"
#include "analyze/synthetic_profile.h"
#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::OpRow;
using profile::RunMode;
using profile::Status;

profile::ModelFacts Model() {
  profile::ModelFacts model;
  model.method = "forward";
  model.delegates = {{.id = 0, .backend = "XnnpackBackend", .engine_id = "9f3c-0"}};
  model.instruction_names = {"", "aten::_softmax.out", "aten::add.out"};
  return model;
}

// One run of a program with a delegate and two operators, `scale` ns as its unit.
void AddRun(SyntheticProfile& made, int64_t scale) {
  made.BeginRun();
  made.Wait(2 * scale);
  made.Leaf(Category::kSetInputs, "set_inputs", 3 * scale);
  made.Enter(Category::kMethod, "Method::execute");
  made.Wait(scale);
  made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Wait(100 * scale);
  made.Reported("Convolution", 1000 * scale);
  made.Reported("Convolution", 2000 * scale);
  made.Reported("Softmax", 1000 * scale);
  made.Leave();
  made.Wait(4 * scale);
  for (const int32_t instruction : {1, 2}) {
    made.Enter(Category::kOperatorCall, "OPERATOR_CALL", instruction);
    made.Wait(scale);
    made.Leaf(Category::kKernel, "native_call", 20 * scale);
    made.Leave();
  }
  made.Leave();
  made.Wait(5 * scale);
  made.EndRun();
}

OperatorTable Build(const SyntheticProfile& made, const OperatorOptions& options = {}) {
  return BuildOperators(made.profile, Model(), options);
}

const OpRow& Get(const OperatorTable& table, const std::string& name) {
  const auto found = std::find_if(table.ops.begin(), table.ops.end(),
                                  [&](const OpRow& row) { return row.name == name; });
  if (found == table.ops.end()) ADD_FAILURE() << "no row " << name;
  return found == table.ops.end() ? table.ops.front() : *found;
}

// The promise of the header, in whole nanoseconds.
void ExpectRowsAddUp(const OperatorTable& table, int64_t runs_ns) {
  ASSERT_FALSE(table.ops.empty());
  std::vector<int64_t> inside(table.ops.size(), 0);
  for (const OpRow& row : table.ops) {
    EXPECT_EQ(row.id, &row - table.ops.data());
    if (row.parent == kNone) {
      EXPECT_EQ(row.depth, 0U);
      continue;
    }
    ASSERT_LT(row.parent, row.id);
    EXPECT_EQ(row.depth, table.ops[row.parent].depth + 1);
    if (row.kind == Kind::kHostWall) inside[row.parent] += row.total_ns;
  }
  EXPECT_EQ(table.ops[0].total_ns, runs_ns);
  EXPECT_EQ(inside[0], runs_ns);
  for (const OpRow& row : table.ops) {
    if (row.kind == Kind::kHostWall) {
      EXPECT_EQ(row.self_ns + inside[row.id], row.total_ns) << row.name;
    }
  }
}

// A row must not be named after a slice that some of its runs do not have.
TEST(Operators, TheFirstRowIsTheMethodOnlyIfEachRunHasOne) {
  for (const bool second : {true, false}) {
    SyntheticProfile made;
    for (const bool method : {true, second}) {
      made.BeginRun(profile::RunMode::kProfiled);
      if (method) made.Enter(Category::kMethod, "Method::execute");
      made.Leaf(Category::kOther, "part", 100);
      if (method) made.Leave();
      made.EndRun();
    }
    const OperatorTable table = BuildOperators(made.profile, {}, {});
    ASSERT_FALSE(table.ops.empty());
    EXPECT_EQ(table.ops[0].name, second ? "Method::execute" : "run");
  }
}

TEST(Operators, RowsStandInProgramOrder) {
  SyntheticProfile made;
  AddRun(made, 100);
  AddRun(made, 300);
  const OperatorTable table = Build(made);
  std::vector<std::string> lines;
  for (const OpRow& row : table.ops) lines.push_back(std::string(2 * row.depth, ' ') + row.name);
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "forward", "  set inputs", "  XnnpackBackend #0", "    Convolution",
                "    Convolution #2", "    Softmax", "  aten::_softmax.out", "    native_call",
                "  aten::add.out", "    native_call", "  between instructions", "  unattributed"}));
}

TEST(Operators, FiguresAreOfTheRunsWithProfiling) {
  SyntheticProfile made;
  made.BeginRun(RunMode::kPairOff);
  made.Wait(1'000'000);
  made.EndRun();
  AddRun(made, 100);
  AddRun(made, 300);
  const OperatorTable table = Build(made);
  EXPECT_EQ(table.runs, 2U);
  ExpectRowsAddUp(table, (100 + 300) * 157);
  EXPECT_DOUBLE_EQ(table.mean_ns, 200 * 157);
  const OpRow& call = Get(table, "XnnpackBackend #0");
  EXPECT_EQ(call.total_ns, 40'000);
  EXPECT_EQ(call.self_ns, 40'000);
  EXPECT_EQ(*call.mean_ns, 20'000);
  EXPECT_EQ(*call.p50_ns, 20'000);
  EXPECT_EQ(call.calls, 2U);
  EXPECT_EQ(call.calls_per_run, 1);
  EXPECT_DOUBLE_EQ(*call.share, 100.0 / 157);
  EXPECT_EQ(*call.instruction, 0);
  EXPECT_EQ(*call.delegate, 0U);
  EXPECT_EQ(Get(table, "between instructions").total_ns, 5 * 400);
  EXPECT_EQ(Get(table, "unattributed").total_ns, 7 * 400);
  EXPECT_DOUBLE_EQ(*table.unattributed_ns, 7 * 200);
}

TEST(Operators, EngineReportedRowsAreApartWithTheirCoverage) {
  SyntheticProfile made;
  AddRun(made, 100);  // says 400 us of a call of 10 us
  const OperatorTable table = Build(made);
  ExpectRowsAddUp(table, 157 * 100);
  ASSERT_EQ(table.delegates.size(), 1U);
  const profile::DelegateResult& delegate = table.delegates[0];
  EXPECT_EQ(delegate.backend, "XnnpackBackend");
  EXPECT_EQ(delegate.engine_id, "9f3c-0");
  EXPECT_EQ(delegate.host_ns, 10'000);
  ASSERT_EQ(delegate.layers.size(), 3U);
  EXPECT_EQ(delegate.layers[0].kind, Kind::kEngineReported);
  EXPECT_DOUBLE_EQ(*delegate.layer_coverage, 40);
  EXPECT_EQ(*delegate.resolution_ns, 1000);
  EXPECT_DOUBLE_EQ(*delegate.layers[1].share, 20);
  EXPECT_EQ(delegate.layers[1].probe_cost_ns.missing().status, Status::kNotMeasured);
  EXPECT_EQ(delegate.layers[1].probe_cost_ns.missing().hint, "its cost is inside the call's row");
  EXPECT_EQ(table.losses.Get(Loss::kEngineOpsCoverage), 1U);
}

TEST(Operators, CoverageNearOneIsNoFinding) {
  for (const auto& [reported, loss] : {std::pair{899, 1}, {900, 0}, {1050, 0}, {1051, 1}}) {
    SyntheticProfile made;
    made.BeginRun();
    made.Enter(Category::kDelegateCall, "call", 0);
    made.Wait(1000);
    made.Reported("all", reported);
    made.Leave();
    made.EndRun();
    EXPECT_EQ(Build(made).losses.Get(Loss::kEngineOpsCoverage), static_cast<uint64_t>(loss))
        << reported;
  }
}

// Two operators in whole microseconds inside one call of `call_ns`.
profile::DelegateResult TwoReports(int64_t call_ns, int64_t first, int64_t second,
                                   uint64_t* losses) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kDelegateCall, "call", 0);
  made.Wait(call_ns);
  made.Reported("a", first);
  made.Reported("b", second);
  made.Leave();
  made.EndRun();
  OperatorTable table = Build(made);
  *losses = table.losses.Get(Loss::kEngineOpsCoverage);
  return table.delegates.at(0);
}

TEST(Operators, ACoverageThatRoundingExplainsIsNoFinding) {
  uint64_t losses = 0;
  const profile::DelegateResult zero = TwoReports(5000, 0, 0, &losses);
  EXPECT_EQ(zero.layer_coverage.missing().status, Status::kBelowResolution);
  EXPECT_EQ(zero.layers.at(0).mean_ns.missing().status, Status::kBelowResolution);
  EXPECT_EQ(zero.layer_coverage.missing().hint,
            "of a call of 5 us the engine reports 2 times, all of them zero");
  EXPECT_EQ(losses, 0U);
  const profile::DelegateResult rounded = TwoReports(4900, 2000, 1000, &losses);
  EXPECT_NEAR(*rounded.layer_coverage, 3.0 / 4.9, 1e-9);
  EXPECT_TRUE(rounded.within_rounding);
  EXPECT_EQ(losses, 0U);
  EXPECT_DOUBLE_EQ(*TwoReports(5000, 2000, 1000, &losses).layer_coverage, 0.6);
  EXPECT_EQ(losses, 1U);
  EXPECT_DOUBLE_EQ(*TwoReports(5'000'000, 0, 0, &losses).layer_coverage, 0);
  EXPECT_EQ(losses, 1U);
}

TEST(Operators, ARunThatLostEventsIsNotInTheRows) {
  SyntheticProfile made;
  for (int i = 0; i < 2; ++i) {
    made.BeginRun();
    made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 1000, 0);
    made.EndRun();
  }
  made.profile.runs[0].incomplete = true;
  EXPECT_EQ(Build(made).runs, 1U);
}

TEST(Operators, SumsThatDoNotFitHaveNoFigures) {
  struct Sum {
    int64_t a, b, sum;
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const Sum& it :
       {Sum{1, 2, 3}, Sum{kMost, 0, kMost}, Sum{kMost, 1, kMost}, Sum{kMost, kMost, kMost},
        Sum{kLeast, -1, kLeast}, Sum{kLeast, kLeast, kLeast}, Sum{kMost, kLeast, -1}}) {
    EXPECT_EQ(base::SaturatingAdd(it.a, it.b), it.sum) << it.a << " + " << it.b;
  }

  SyntheticProfile made;
  for (int run = 0; run < 2; ++run) {
    made.BeginRun();
    made.Enter(Category::kMethod, "Method::execute");
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(100);
    for (int i = 0; i < 5; ++i) made.Reported("conv", int64_t{1} << 61);
    made.Leave();
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  // The five of a run fill 64 bits already; one of them in two runs does not.
  ASSERT_EQ(table.delegates.size(), 1U);
  ASSERT_FALSE(table.delegates[0].layer_coverage);
  EXPECT_EQ(table.delegates[0].layer_coverage.missing().status, Status::kOverflow);
  EXPECT_EQ(table.delegates[0].host_ns, 100);

  for (profile::Slice& slice : made.profile.slices) {
    if (slice.category == Category::kDelegateOp) slice.dur_ns = int64_t{1} << 62;
  }
  const OperatorTable longer = Build(made);
  for (const OpRow& layer : longer.delegates.at(0).layers) {
    ASSERT_FALSE(layer.mean_ns);
    ASSERT_FALSE(layer.p50_ns);
    EXPECT_EQ(layer.mean_ns.missing().status, Status::kOverflow);
    EXPECT_EQ(layer.p50_ns.missing().status, Status::kOverflow);
    EXPECT_GT(layer.total_ns, 0);
  }
}

TEST(Operators, ASilentDelegateSaysSo) {
  SyntheticProfile made;
  made.BeginRun();
  made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 1000, 0);
  made.EndRun();
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.delegates.size(), 1U);
  ASSERT_FALSE(table.delegates[0].layer_coverage);
  EXPECT_EQ(table.delegates[0].layer_coverage.missing().status, Status::kUnavailable);
  EXPECT_EQ(table.losses.Get(Loss::kEngineOpsCoverage), 0U);
}

TEST(Operators, SameNameAtTwoInstructionsIsTwoRowsInALoopOneRow) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kMethod, "Method::execute");
  for (int i = 0; i < 2; ++i) {
    made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 100, 7);
    made.Leaf(Category::kOperatorCall, "OPERATOR_CALL", 200, 8);
  }
  made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  ASSERT_EQ(table.ops.size(), 5U);
  EXPECT_EQ(*table.ops[1].instruction, 7);
  EXPECT_EQ(table.ops[1].calls, 2U);
  EXPECT_EQ(table.ops[1].total_ns, 200);
  EXPECT_EQ(*table.ops[2].instruction, 8);
  EXPECT_EQ(table.ops[2].total_ns, 400);
  ExpectRowsAddUp(table, 600);
}

TEST(Operators, ADelegateCalledTwiceKeepsItsOperatorsByPosition) {
  SyntheticProfile made;
  made.BeginRun();
  for (int i = 0; i < 2; ++i) {
    made.Enter(Category::kDelegateCall, "DELEGATE_CALL", 0);
    made.Wait(10);
    made.Reported("op", 3000);
    made.Reported("op", 5000);
    made.Leave();
  }
  made.EndRun();
  const OperatorTable table = Build(made);
  EXPECT_EQ(Get(table, "op").total_ns, 6000);
  EXPECT_EQ(Get(table, "op #2").total_ns, 10000);
  EXPECT_EQ(Get(table, "op #2").calls, 2U);
}

TEST(Operators, WhichDelegateIsNotGuessed) {
  SyntheticProfile made;
  made.BeginRun();
  made.Leaf(Category::kDelegateCall, "DELEGATE_CALL", 1000, 4);
  made.EndRun();
  profile::ModelFacts model = Model();
  model.delegates.push_back({.id = 1, .backend = "OpenvinoBackend", .engine_id = ""});
  OperatorTable table = BuildOperators(made.profile, model, {});
  EXPECT_EQ(table.ops[1].name, "DELEGATE_CALL@4");
  EXPECT_EQ(table.ops[1].delegate.missing().status, Status::kNoMap);
  model.instruction_delegates = {-1, -1, -1, -1, 1};
  table = BuildOperators(made.profile, model, {});
  EXPECT_EQ(table.ops[1].name, "OpenvinoBackend #1");
}

TEST(Operators, UserScopesAreRowsInsideAroundAndBeside) {
  SyntheticProfile made;
  made.Enter(Category::kScope, "batch");
  for (int i = 0; i < 2; ++i) {
    made.BeginRun();
    made.Enter(Category::kScope, "inner");
    made.Wait(100);
    made.Leave();
    made.OnOtherThread("helper", 500);
    made.EndRun();
  }
  made.Leave();
  const OperatorTable table = Build(made);
  ExpectRowsAddUp(table, 200);
  EXPECT_EQ(Get(table, "inner").parent, 0U);
  EXPECT_EQ(Get(table, "batch").parent, kNone);
  EXPECT_EQ(Get(table, "batch").calls, 1U);
  EXPECT_EQ(Get(table, "batch").total_ns, 200);
  EXPECT_EQ(Get(table, "helper").parent, kNone);
  EXPECT_EQ(Get(table, "helper").total_ns, 1000);
}

TEST(Operators, ProbeCostCountsTheEventsInside) {
  SyntheticProfile made;
  AddRun(made, 100);
  const OperatorTable table = Build(made, {.event_cost_ns = 10});
  // run, set inputs, method, delegate call and three of its own, two operators with a kernel each.
  EXPECT_DOUBLE_EQ(*table.ops[0].probe_cost_ns, 110);
  EXPECT_DOUBLE_EQ(*Get(table, "XnnpackBackend #0").probe_cost_ns, 40);
  EXPECT_DOUBLE_EQ(*Get(table, "aten::add.out").probe_cost_ns, 20);
  EXPECT_DOUBLE_EQ(*Get(table, "between instructions").probe_cost_ns, 40);
  EXPECT_DOUBLE_EQ(*Get(table, "unattributed").probe_cost_ns, 30);
}

TEST(Operators, AMeanUnderTenTicksIsBelowResolution) {
  SyntheticProfile made;  // tick 0.5 ns
  for (int i = 0; i < 2; ++i) {
    made.BeginRun();
    made.Leaf(Category::kOperatorCall, "short", 4, 1);
    made.Leaf(Category::kOperatorCall, "long", 5, 2);
    made.EndRun();
  }
  profile::ModelFacts model;
  const OperatorTable table = BuildOperators(made.profile, model, {.root_name = "main"});
  EXPECT_EQ(table.ops[0].name, "main");
  EXPECT_EQ(Get(table, "short").mean_ns.missing().status, Status::kBelowResolution);
  EXPECT_EQ(Get(table, "short").total_ns, 8);
  EXPECT_EQ(*Get(table, "long").mean_ns, 5);
}

TEST(Operators, ARowAbsentFromSomeRunsHasZerosInItsMedian) {
  SyntheticProfile made;
  for (int i = 0; i < 5; ++i) {
    made.BeginRun();
    if (i < 2) made.Leaf(Category::kOperatorCall, "sometimes", 1000, 1);
    made.Leaf(Category::kOperatorCall, "always", 1000, 2);
    made.EndRun();
  }
  const OperatorTable table = BuildOperators(made.profile, {}, {});
  EXPECT_EQ(*Get(table, "sometimes").p50_ns, 0);
  EXPECT_EQ(*Get(table, "sometimes").mean_ns, 400);
  EXPECT_DOUBLE_EQ(Get(table, "sometimes").calls_per_run, 0.4);
}

TEST(Operators, ChildrenLongerThanTheirParentAreCountedNotHidden) {
  SyntheticProfile made;
  made.BeginRun();
  made.Enter(Category::kOperatorCall, "outer", 1);
  made.Leaf(Category::kKernel, "inner", 100);
  made.Leave();
  made.EndRun();
  made.profile.slices[2].dur_ns = 150;  // the kernel
  const OperatorTable table = BuildOperators(made.profile, {}, {});
  ExpectRowsAddUp(table, 100);
  EXPECT_EQ(Get(table, "outer").self_ns, -50);
  EXPECT_EQ(table.losses.Get(Loss::kChildrenExceedParent), 1U);
}

TEST(Operators, NoProfiledRunGivesNoRows) {
  const OperatorTable table = BuildOperators(profile::Profile{}, {}, {});
  EXPECT_TRUE(table.ops.empty());
  EXPECT_EQ(table.unattributed_ns.missing().status, Status::kNotMeasured);
}

TEST(Operators, ALostRunSliceStillAddsUp) {
  SyntheticProfile made;
  AddRun(made, 100);
  // A full ring dropped the run's own slice: its children have no parent any more.
  made.profile.slices[0].category = Category::kOther;
  made.profile.slices[0].dur_ns = 0;
  for (profile::Slice& slice : made.profile.slices) {
    if (slice.parent == 0) slice.parent = kNone;
  }
  const OperatorTable table = Build(made);
  ExpectRowsAddUp(table, 157 * 100);
  EXPECT_EQ(Get(table, "between instructions").total_ns, 500);
}

// A damaged profile: what stands around the run is inside it.
TEST(Operators, ACircleOfParentsEnds) {
  SyntheticProfile made;
  AddRun(made, 100);
  made.profile.slices[0].parent = 1;
  ASSERT_EQ(made.profile.slices[0].category, Category::kRun);
  EXPECT_FALSE(Build(made).ops.empty());
}

// Random trees of everything: the sums hold to the nanosecond.
TEST(Operators, SumsHoldOnRandomTrees) {
  std::mt19937_64 random(42);
  const auto up_to = [&](uint64_t n) { return random() % (n + 1); };
  constexpr Category kCategories[] = {Category::kScope,        Category::kMethod,
                                      Category::kOperatorCall, Category::kKernel,
                                      Category::kDelegateCall, Category::kOther};
  for (int trial = 0; trial < 200; ++trial) {
    SyntheticProfile made;
    int64_t runs_ns = 0;
    const uint64_t runs = 1 + up_to(3);
    for (uint64_t run = 0; run < runs; ++run) {
      made.BeginRun();
      uint64_t depth = 0;
      for (uint64_t step = up_to(60); step > 0; --step) {
        made.Wait(static_cast<int64_t>(up_to(1000)));
        switch (up_to(4)) {
          case 0:
          case 1:
            made.Enter(kCategories[up_to(5)], std::string(1, static_cast<char>('a' + up_to(3))),
                       static_cast<int32_t>(up_to(4)) - 1);
            ++depth;
            break;
          case 2:
            made.Reported("op", static_cast<int64_t>(up_to(5000)));
            break;
          case 3:
            made.OnOtherThread("elsewhere", static_cast<int64_t>(up_to(5000)));
            break;
          default:
            if (depth > 0) {
              made.Leave();
              --depth;
            }
        }
      }
      for (; depth > 0; --depth) made.Leave();
      made.EndRun();
      runs_ns += made.profile.runs.back().dur_ns;
    }
    const OperatorTable table = Build(made);
    ExpectRowsAddUp(table, runs_ns);
    EXPECT_EQ(table.losses.Get(Loss::kChildrenExceedParent), 0U);
    if (HasFailure()) FAIL() << "trial " << trial;
  }
}

TEST(Operators, SlicesMayComeInOrderOfTheirEnds) {
  SyntheticProfile made;
  AddRun(made, 100);
  const OperatorTable by_start = Build(made);
  // As a ring has them: an inner slice before the one around it.
  std::vector<uint32_t> order(made.profile.slices.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto end_of = [&](uint32_t i) {
      const profile::Slice& slice = made.profile.slices[i];
      return slice.start_ns + (slice.category == Category::kDelegateOp ? 0 : slice.dur_ns);
    };
    return end_of(a) < end_of(b);
  });
  std::vector<uint32_t> moved_to(order.size());
  std::vector<profile::Slice> slices;
  for (uint32_t i = 0; i < order.size(); ++i) {
    moved_to[order[i]] = i;
    slices.push_back(made.profile.slices[order[i]]);
  }
  for (profile::Slice& slice : slices) {
    if (slice.parent != kNone) slice.parent = moved_to[slice.parent];
  }
  made.profile.slices = slices;
  const OperatorTable by_end = Build(made);
  ASSERT_EQ(by_end.ops.size(), by_start.ops.size());
  for (size_t i = 0; i < by_end.ops.size(); ++i) {
    EXPECT_EQ(by_end.ops[i].name, by_start.ops[i].name);
    EXPECT_EQ(by_end.ops[i].total_ns, by_start.ops[i].total_ns);
  }
}

// Not a matter of speed but of shape: quadratic work would take minutes here.
TEST(Operators, HundredThousandDistinctOperators) {
  SyntheticProfile made;
  for (int run = 0; run < 2; ++run) {
    made.BeginRun();
    made.Enter(Category::kMethod, "Method::execute");
    for (int32_t i = 0; i < 100'000; ++i) {
      made.Leaf(Category::kOperatorCall, "op" + std::to_string(i), 10, i);
    }
    made.Leave();
    made.EndRun();
  }
  const OperatorTable table = Build(made);
  EXPECT_EQ(table.ops.size(), 100'003U);
  ExpectRowsAddUp(table, 2'000'000);
}

TEST(Operators, DeepNestingNeedsNoStack) {
  SyntheticProfile made;
  made.BeginRun();
  constexpr int kDeep = 200'000;
  for (int i = 0; i < kDeep; ++i) made.Enter(Category::kScope, "f");
  made.Wait(10);
  for (int i = 0; i < kDeep; ++i) made.Leave();
  made.EndRun();
  const OperatorTable table = Build(made);
  EXPECT_EQ(table.ops.size(), size_t{kDeep} + 2);
  EXPECT_EQ(table.ops[0].total_ns, 10);
}

// Runs of a PyTorch model: modules with the operators that they called, and their work on a device.
class ModuleRows : public testing::Test {
 protected:
  ModuleRows() {
    model_.method = "forward";
    profile::Module net;
    net.class_name = "Net";
    profile::Module features;
    features.path = "features";
    features.class_name = "Sequential";
    features.parent = 0;
    profile::Module conv;
    conv.path = "features.0";
    conv.class_name = "Conv2d";
    conv.parent = 1;
    model_.modules.tree = {net, features, conv};
    for (int run = 0; run < 3; ++run) AddRun();
    table_ = BuildOperators(made_.profile, model_, {.event_cost_ns = 10.0});
  }

  void AddRun() {
    made_.BeginRun();
    made_.Wait(1);
    made_.EnterModule(0);
    made_.Wait(2);
    made_.EnterModule(1);
    made_.EnterModule(2);
    made_.Wait(400);
    const uint32_t conv = made_.Enter(Category::kOperator, "aten::conv2d");
    made_.Wait(8);
    made_.Leaf(Category::kOperator, "aten::convolution", 16);
    made_.Leave();
    made_.Leave();
    made_.Leave();
    made_.EnterModule(2);  // the same module elsewhere is another row
    made_.Wait(32);
    made_.Leave();
    made_.EnterModule(9);  // of no module of the tree
    made_.Leave();
    made_.Leave();
    made_.Leaf(Category::kOperator, "aten::mean", 64);
    made_.DeviceWork(conv, "gemm", 5000);
    made_.EndRun();
  }

  profile::ModelFacts model_;
  SyntheticProfile made_;
  OperatorTable table_;
};

TEST_F(ModuleRows, NestAndAddUp) {
  struct Expected {
    std::string name;
    uint32_t depth;
    int64_t total_ns;
    int64_t self_ns;
    std::string module_path;  // "-": none
  };
  const Expected expected[] = {
      {"forward", 0, 523, 0, "-"},
      {"Net", 1, 458, 2, ""},
      {"features Sequential", 2, 424, 0, "features"},
      {"features.0 Conv2d", 3, 424, 400, "features.0"},
      {"aten::conv2d", 4, 24, 8, "features.0"},
      {"aten::convolution", 5, 16, 16, "features.0"},
      {"gemm", 5, 5000, 0, "features.0"},
      {"features.0 Conv2d", 2, 32, 32, "features.0"},
      {"", 2, 0, 0, ""},
      {"aten::mean", 1, 64, 64, "-"},
      {"unattributed", 1, 1, 1, "-"},
  };
  ASSERT_EQ(table_.ops.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const OpRow& row = table_.ops[i];
    EXPECT_EQ(row.name, expected[i].name);
    EXPECT_EQ(row.depth, expected[i].depth) << row.name;
    EXPECT_EQ(row.total_ns, 3 * expected[i].total_ns) << row.name;
    EXPECT_EQ(row.self_ns, 3 * expected[i].self_ns) << row.name;
    EXPECT_EQ(row.module_path ? *row.module_path : "-", expected[i].module_path) << row.name;
  }
  EXPECT_EQ(table_.ops[1].type, profile::RowType::kModule);
  EXPECT_EQ(table_.ops[4].type, profile::RowType::kOperator);
  ASSERT_FALSE(table_.ops[9].module_path);
  EXPECT_EQ(table_.ops[9].module_path.missing().hint, "in no module");
  EXPECT_EQ(*table_.unattributed_ns, 1);
  ExpectRowsAddUp(table_, 3 * 523);
}

TEST_F(ModuleRows, ADevicesWorkIsInNoHostWallRow) {
  const OpRow& gemm = Get(table_, "gemm");
  EXPECT_EQ(gemm.kind, Kind::kDevice);
  EXPECT_FALSE(gemm.share);
  EXPECT_EQ(*gemm.mean_ns, 5000);
}

TEST_F(ModuleRows, TheCostOfAFrameworksProfilerIsNotMadeUp) {
  for (const char* name : {"aten::convolution", "features Sequential", "forward"}) {
    const auto& cost = Get(table_, name).probe_cost_ns;
    ASSERT_FALSE(cost) << name;
    EXPECT_EQ(cost.missing().status, Status::kNotMeasured) << name;
  }
  ASSERT_TRUE(table_.ops[7].probe_cost_ns);  // a module that called none
  EXPECT_EQ(*table_.ops[7].probe_cost_ns, 10);
}

}  // namespace
}  // namespace inferprobe::analyze
