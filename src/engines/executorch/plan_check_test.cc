#include "engines/executorch/plan_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "program_generated.h"

namespace inferprobe::executorch_engine {
namespace {

namespace fb = executorch_flatbuffer;

// A plan of three values (a tensor, an int, a list) and one of each instruction, with one field
// that a test may break.
struct Plan {
  std::vector<int32_t> inputs = {0};
  std::vector<int32_t> outputs = {0};
  std::vector<int32_t> kernel_args = {0, 1};
  int32_t op_index = 0;
  std::vector<int32_t> delegate_args = {0};
  int32_t delegate_index = 0;
  int32_t move_to = 0;
  int32_t jump_condition = 1;
  int32_t jump_to = 5;  // one beyond the last
  int32_t freed = 0;
  uint32_t memory_id = 1;
  std::vector<uint8_t> dim_order = {0};
  std::vector<int32_t> list = {0};
  uint32_t processed_index = 0;
  bool has_chain = true;

  [[nodiscard]] std::string Check() const {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<int32_t> sizes = {4};
    const auto allocation = fb::CreateAllocationDetails(builder, memory_id, 0, 0);
    const auto tensor = fb::CreateTensorDirect(builder, fb::ScalarType::FLOAT, 0, &sizes,
                                               &dim_order, false, 0, allocation);
    const auto number = fb::CreateInt(builder, 7);
    const auto tensors = fb::CreateTensorListDirect(builder, &list);
    const std::vector<flatbuffers::Offset<fb::EValue>> values = {
        fb::CreateEValue(builder, fb::KernelTypes::Tensor, tensor.Union()),
        fb::CreateEValue(builder, fb::KernelTypes::Int, number.Union()),
        fb::CreateEValue(builder, fb::KernelTypes::TensorList, tensors.Union())};
    using Arguments = fb::InstructionArguments;
    const std::vector<flatbuffers::Offset<fb::Instruction>> instructions = {
        fb::CreateInstruction(builder, Arguments::KernelCall,
                              fb::CreateKernelCallDirect(builder, op_index, &kernel_args).Union()),
        fb::CreateInstruction(
            builder, Arguments::DelegateCall,
            fb::CreateDelegateCallDirect(builder, delegate_index, &delegate_args).Union()),
        fb::CreateInstruction(builder, Arguments::MoveCall,
                              fb::CreateMoveCall(builder, 0, move_to).Union()),
        fb::CreateInstruction(builder, Arguments::JumpFalseCall,
                              fb::CreateJumpFalseCall(builder, jump_condition, jump_to).Union()),
        fb::CreateInstruction(builder, Arguments::FreeCall,
                              fb::CreateFreeCall(builder, freed).Union())};
    std::vector<flatbuffers::Offset<fb::Chain>> chains;
    if (has_chain) {
      chains.push_back(fb::CreateChainDirect(builder, nullptr, nullptr, &instructions));
    }
    const std::vector<flatbuffers::Offset<fb::Operator>> operators = {
        fb::CreateOperatorDirect(builder, "aten::add", "out")};
    const auto processed =
        fb::CreateBackendDelegateDataReference(builder, fb::DataLocation::SEGMENT, processed_index);
    const std::vector<flatbuffers::Offset<fb::BackendDelegate>> delegates = {
        fb::CreateBackendDelegateDirect(builder, "Backend", processed)};
    const std::vector<int64_t> buffers = {0, 64};
    const auto plan =
        fb::CreateExecutionPlanDirect(builder, "forward", 0, &values, &inputs, &outputs, &chains,
                                      &operators, &delegates, &buffers);
    const std::vector<flatbuffers::Offset<fb::ExecutionPlan>> plans = {plan};
    const std::vector<flatbuffers::Offset<fb::DataSegment>> segments = {
        fb::CreateDataSegment(builder, 0, 4)};
    builder.Finish(fb::CreateProgramDirect(builder, 0, &plans, nullptr, nullptr, &segments));
    const auto* program = flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer());
    auto checked = CheckPlanIndices("x.pte", *program, *program->execution_plan()->Get(0));
    return checked ? "good" : checked.error().message;
  }
};

TEST(PlanCheck, TakesAPlanWhoseIndicesLeadSomewhere) { EXPECT_EQ(Plan().Check(), "good"); }

struct Break {
  const char* name;
  std::function<void(Plan*)> apply;
  const char* message;
};

class PlanCheckRefuses : public testing::TestWithParam<Break> {};

TEST_P(PlanCheckRefuses, AnIndexThatLeadsNowhere) {
  Plan plan;
  GetParam().apply(&plan);
  EXPECT_NE(plan.Check().find(GetParam().message), std::string::npos) << plan.Check();
}

INSTANTIATE_TEST_SUITE_P(
    Each, PlanCheckRefuses,
    testing::Values(
        Break{"Input", [](Plan* p) { p->inputs = {3}; }, "an input is value 3 of 3"},
        Break{"Output", [](Plan* p) { p->outputs = {-1}; }, "an output is value -1 of 3"},
        Break{"KernelArgument", [](Plan* p) { p->kernel_args = {0, 9}; },
              "an argument of instruction 0 is value 9"},
        Break{"Operator", [](Plan* p) { p->op_index = 1; }, "instruction 0 calls operator 1"},
        Break{"DelegateArgument", [](Plan* p) { p->delegate_args = {-4}; },
              "an argument of instruction 1 is value -4"},
        Break{"Delegate", [](Plan* p) { p->delegate_index = -1; },
              "instruction 1 calls delegate -1"},
        Break{"Move", [](Plan* p) { p->move_to = 3; }, "the target of instruction 2 is value 3"},
        Break{"Condition", [](Plan* p) { p->jump_condition = 3; },
              "the condition of instruction 3 is value 3"},
        Break{"Jump", [](Plan* p) { p->jump_to = 6; }, "instruction 3 jumps to 6"},
        Break{"Free", [](Plan* p) { p->freed = 1; }, "instruction 4 frees value 1"},
        Break{"Memory", [](Plan* p) { p->memory_id = 2; }, "planned buffer 2 of 2"},
        Break{"ReservedMemory", [](Plan* p) { p->memory_id = 0; }, "planned buffer 0 of 2"},
        Break{"DimOrder", [](Plan* p) { p->dim_order = {0, 1}; }, "not as many dimensions"},
        Break{"List", [](Plan* p) { p->list = {1}; }, "value 1 in a list of tensors is none"},
        Break{"Blob", [](Plan* p) { p->processed_index = 1; }, "a delegate's data is not"},
        Break{"NoChain", [](Plan* p) { p->has_chain = false; }, "it has no instructions"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace inferprobe::executorch_engine
