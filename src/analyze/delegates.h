// What delegates reported about their own inside: beside the host-wall rows, with how much of the
// call it covers.
//
// The rule that people break: a call's layers are what was reported in that call, not in another
// delegate call inside it; and reports are compared with the call, never added to it. Where the
// delegate has a whole-call event of its own, they are compared with that: what the runtime does
// around it, and reading the layers, is none of the engine's time. Shares and coverage are of the
// same.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device_times.h"
#include "analyze/operators.h"
#include "analyze/row_table.h"
#include "analyze/telescoped_means.h"

namespace inferprobe::analyze {

struct DelegateInput {
  const RowTable& rows;
  const std::vector<uint32_t>& order;  // index in `rows` of each of OperatorTable::ops
  const profile::ModelFacts& model;
  const TelescopedMeans& means;
  const DeviceTimes& device_times;
  bool whole = true;  // false: events of these runs were dropped
};

// Fills `delegates`, and what the reports' resolution says about `ops`. Linear.
void AddDelegates(const DelegateInput& input, OperatorTable* table);

}  // namespace inferprobe::analyze
