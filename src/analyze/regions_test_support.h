// What the tests of parallel regions start from: a program's run with known loops, and its rows.
#pragma once

#include <gtest/gtest.h>

#include "analyze/operators.h"
#include "analyze/regions.h"
#include "analyze/synthetic_profile.h"

namespace inferprobe::analyze {

inline profile::Region Asked(int32_t requested, int32_t admitted) {
  profile::Region facts;
  facts.iterations = 100;
  facts.grain = 10;
  facts.requested = requested;
  facts.admitted = admitted;
  return facts;
}

inline profile::PerfResult Rows(const SyntheticProfile& made) {
  profile::PerfResult result;
  result.model.method = "forward";
  result.model.delegates = {{.id = 0, .backend = "XnnpackBackend", .engine_id = ""},
                            {.id = 1, .backend = "OpenvinoBackend", .engine_id = ""}};
  result.model.instruction_names = {"", "aten::mm.out", "aten::addmm.out", ""};
  result.model.instruction_delegates = {0, -1, -1, 1};
  OperatorTable table = BuildOperators(made.profile, result.model, {});
  result.ops = std::move(table.ops);
  result.delegates = std::move(table.delegates);
  result.profiled_runs = table.runs;
  return result;
}

inline profile::Metric<profile::RegionReport> Analyze(const SyntheticProfile& made,
                                                      const RegionOptions& options = {}) {
  return AnalyzeRegions(made.profile, Rows(made), options);
}

// A run of 100 us: a delegate of 40 us with a region of 20, an operator of 30 us that asks for no
// threads, one of 10 us whose loop runs on one thread, and 20 us between them.
inline void AddRun(SyntheticProfile& made, int64_t second_busy_ns = 15'000) {
  made.BeginRun();
  made.Enter(profile::Category::kMethod, "Method::execute");
  made.Enter(profile::Category::kDelegateCall, "DELEGATE_CALL", 0);
  made.Wait(10'000);
  made.Region("2d_tile_2d", 20'000, Asked(2, 2),
              {{.tid = 1, .start_ns = 1'000, .busy_ns = 18'000},
               {.tid = 2, .start_ns = 2'000, .busy_ns = second_busy_ns}},
              0);
  made.Wait(10'000);
  made.Leave();
  made.Wait(20'000);
  made.Leaf(profile::Category::kOperatorCall, "OPERATOR_CALL", 30'000, 2);
  made.Enter(profile::Category::kOperatorCall, "OPERATOR_CALL", 1);
  made.Wait(1'000);
  made.Region("parallel_for", 8'000, Asked(2, 1), {{.tid = 1, .busy_ns = 8'000}}, 1);
  made.Wait(1'000);
  made.Leave();
  made.Leave();
  made.EndRun();
}

inline const profile::RegionRow& RowOf(const profile::RegionReport& report,
                                       std::string_view where) {
  for (const profile::RegionRow& row : report.rows) {
    if (row.where == where) return row;
  }
  ADD_FAILURE() << "no row of " << where;
  static const profile::RegionRow none;
  return none;
}

}  // namespace inferprobe::analyze
