// What a method's plan says about itself: inputs and outputs, instructions, delegates, planned
// memory, and whether it keeps state between runs. Read from the program's flatbuffer, because the
// runtime's MethodMeta tells neither dynamic shapes nor the values of scalars nor what an
// instruction calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/executorch/program_tables.h"
#include "engines/executorch/values.h"
#include "inferprobe/tensor.h"
#include "profile/facts.h"

namespace inferprobe::executorch_engine {

enum class ValueKind : uint8_t { kTensor, kScalar, kNone, kOther };

struct PlanValue {
  TensorSpec spec;
  ValueKind kind = ValueKind::kOther;
  std::string what;                // of kNone and kOther: "None", "a list of ints"
  std::string unsupported;         // not empty: a tensor that ours cannot hold, and why
  std::vector<uint8_t> dim_order;  // tensors
  bool unbounded = false;          // a dynamic shape without an upper bound
  bool planned = false;            // lies in planned memory
  bool constant = false;           // lies in the program
  int32_t value_index = -1;        // the same index: the same value
};

struct PlanFacts {
  std::vector<PlanValue> inputs;
  std::vector<PlanValue> outputs;
  std::vector<int64_t> planned_buffers;  // bytes of each, [0] is reserved and left out
  std::vector<std::string> backends;     // of the delegates, each once
  std::vector<std::string> external;     // names of the tensors that lie in data files
  bool keeps_state = false;              // mutable buffers: a run depends on the runs before it
  bool only_cpu = true;                  // false: buffers on another device are planned
};

PlanFacts ReadPlan(const executorch_flatbuffer::ExecutionPlan& plan);

// Instructions, their names, and delegates with their content hashes: of no use to a run, and not
// free (it hashes the delegates' data), so apart from ReadPlan.
void FillInstructions(const ProgramTables& file, const executorch_flatbuffer::ExecutionPlan& plan,
                      profile::ModelFacts* facts);

}  // namespace inferprobe::executorch_engine
