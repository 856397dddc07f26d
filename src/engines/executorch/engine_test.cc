#include "engines/executorch/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "engines/executorch/test_support.h"

namespace inferprobe::executorch_engine {
namespace {

using measure::CompareOutputs;
using measure::SameBits;

std::vector<Tensor> RunOrFail(ExecutorchEngine* engine, bool observed) {
  auto run = engine->Run(observed);
  EXPECT_TRUE(run) << run.error().message;
  auto outputs = engine->Outputs(observed);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

std::string ErrorOf(const measure::LoadOptions& options) {
  auto engine = ExecutorchEngine::Load(options);
  return engine ? "loaded" : engine.error().message + " | " + engine.error().hint;
}

#define EXPECT_HAS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)

struct Program {
  const char* stem;  // of the arrays
  std::string path;
  std::string method = "forward";
  std::vector<std::string> data;
};

std::vector<Program> Programs() {
  std::vector<Program> programs;
  for (const char* name : {"vision_portable", "vision_xnnpack", "text_portable", "text_xnnpack",
                           "regions50_xnnpack", "kv_cache"}) {
    programs.push_back({name, Sample(std::string(name) + ".pte"), "forward", {}});
  }
  for (const char* name :
       {"scalars", "types", "dynamic", "dynamic_xnnpack", "cache_portable", "cache_xnnpack"}) {
    programs.push_back({name, Fixture(std::string(name) + ".pte"), "forward", {}});
  }
  for (const char* method : {"forward", "encode"}) {
    programs.push_back({method[0] == 'f' ? "two_methods.forward" : "two_methods.encode",
                        Fixture("two_methods.pte"),
                        method,
                        {}});
  }
  programs.push_back({"external",
                      Fixture("external.pte"),
                      "forward",
                      {Fixture("external_first.ptd"), Fixture("external_rest.ptd")}});
  return programs;
}

class Runs : public testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    const Program& program = GetParam();
    engine_ = LoadOrFail(Options(program.path, program.method, program.data));
    ASSERT_NE(engine_, nullptr);
    const std::string stem =
        std::filesystem::path(program.path).parent_path().string() + "/" + program.stem;
    inputs_ = As(engine_->inputs(), Arrays(stem, "input"));
    expected_ = As(engine_->model().outputs, Arrays(stem, "expected"));
    ASSERT_FALSE(expected_.empty());
  }
  std::unique_ptr<ExecutorchEngine> engine_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> expected_;
};

TEST_P(Runs, WithTheOutputsOfTorch) {
  ASSERT_TRUE(engine_->SetInputs(inputs_));
  const auto comparison = CompareOutputs(RunOrFail(engine_.get(), false), expected_);
  EXPECT_TRUE(comparison.match) << comparison.text;
}

TEST_P(Runs, TheSameBitsTwiceAndWithProfiling) {
  Recording recording;
  ASSERT_TRUE(engine_->SetInputs(inputs_));
  const auto first = RunOrFail(engine_.get(), false);
  EXPECT_TRUE(SameBits(RunOrFail(engine_.get(), false), first));
  ASSERT_TRUE(engine_->PrepareObserved());
  EXPECT_TRUE(SameBits(RunOrFail(engine_.get(), true), first));
  // In turns, as they are measured.
  EXPECT_TRUE(SameBits(RunOrFail(engine_.get(), false), first));
  EXPECT_TRUE(SameBits(RunOrFail(engine_.get(), true), first));
  EXPECT_GT(recording.Take().size(), 2U);
}

TEST_P(Runs, WithSeededInputs) {
  auto inputs = measure::ResolveInputs(engine_->inputs(), {});
  ASSERT_TRUE(inputs);
  auto set = engine_->SetInputs(inputs->tensors);
  ASSERT_TRUE(set) << set.error().message;
  const auto first = RunOrFail(engine_.get(), false);
  ASSERT_TRUE(engine_->SetInputs(inputs->tensors));
  EXPECT_TRUE(SameBits(RunOrFail(engine_.get(), false), first));
}

TEST_P(Runs, AndTellsWhatItIs) {
  const profile::ModelFacts& model = engine_->model();
  EXPECT_EQ(model.format, "executorch");
  EXPECT_EQ(model.sha256, base::Sha256Hex(*base::ReadFile(GetParam().path)));
  EXPECT_EQ(model.bytes, std::filesystem::file_size(GetParam().path));
  EXPECT_TRUE(std::count(model.methods.begin(), model.methods.end(), GetParam().method));
  ASSERT_TRUE(model.instructions);
  EXPECT_EQ(static_cast<size_t>(*model.instructions), model.instruction_names.size());
  EXPECT_EQ(model.instruction_names.size(), model.instruction_delegates.size());
  ASSERT_EQ(model.outputs.size(), expected_.size());
  ASSERT_EQ(model.inputs.size(), inputs_.size());
  for (size_t i = 0; i < expected_.size(); ++i) EXPECT_EQ(model.outputs[i].type, expected_[i].type);
  const profile::MemoryFacts memory = engine_->memory();
  int64_t planned = 0;
  for (const int64_t bytes : memory.planned_buffers) planned += bytes;
  EXPECT_EQ(*memory.planned_bytes, planned);
  EXPECT_GT(*memory.method_allocations, 0);
  EXPECT_GT(*memory.method_bytes, 0);
  EXPECT_FALSE(memory.run_allocations) << "nothing has run yet";
}

INSTANTIATE_TEST_SUITE_P(Each, Runs, testing::ValuesIn(Programs()), [](const auto& program) {
  std::string name = program.param.stem;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(Engine, KnowsDelegatesByContent) {
  auto engine = LoadOrFail(Options(Sample("regions50_xnnpack.pte")));
  const auto& delegates = engine->model().delegates;
  ASSERT_FALSE(delegates.empty());
  std::set<std::string> ids;
  uint64_t bytes = 0;
  for (const auto& delegate : delegates) {
    EXPECT_EQ(delegate.backend, "XnnpackBackend");
    EXPECT_EQ(delegate.engine_id.size(), 18U) << delegate.engine_id;
    bytes += delegate.blob_bytes;
    ids.insert(delegate.engine_id);
  }
  EXPECT_EQ(ids.size(), delegates.size());
  EXPECT_GT(bytes, 0U);
  EXPECT_LT(bytes, engine->model().bytes);
  const auto again = LoadOrFail(Options(Sample("regions50_xnnpack.pte")));
  EXPECT_EQ(again->model().delegates.front().engine_id, delegates.front().engine_id);
  // Each instruction is a kernel or a delegate, or neither, never both.
  const auto& model = engine->model();
  EXPECT_TRUE(std::any_of(model.instruction_delegates.begin(), model.instruction_delegates.end(),
                          [](int32_t delegate) { return delegate >= 0; }));
  for (size_t i = 0; i < model.instruction_names.size(); ++i) {
    EXPECT_TRUE(model.instruction_names[i].empty() || model.instruction_delegates[i] == -1);
  }
}

TEST(Engine, TellsWhatIsThere) {
  auto engine = LoadOrFail(Options(Sample("vision_xnnpack.pte")));
  EXPECT_EQ(engine->engine().version, "1.5.1");
  const auto& backends = engine->engine().backends;
  EXPECT_TRUE(std::count(backends.begin(), backends.end(), "XnnpackBackend"));
}

TEST(Engine, ReadsABundledProgramByContentAndItsCases) {
  const std::string renamed = testing::TempDir() + "/bundle.named_otherwise";
  std::filesystem::copy_file(Sample("vision_xnnpack.bpte"), renamed,
                             std::filesystem::copy_options::overwrite_existing);
  auto engine = LoadOrFail(Options(renamed));
  std::filesystem::remove(renamed);
  ASSERT_NE(engine, nullptr);
  const auto cases = engine->bundled_cases();
  ASSERT_EQ(cases.size(), 2U);
  for (const auto& one : cases) {
    ASSERT_TRUE(engine->SetInputs(one.inputs));
    const auto comparison = CompareOutputs(RunOrFail(engine.get(), false), one.expected);
    EXPECT_TRUE(comparison.match) << comparison.text;
  }
  // The cases differ, so a comparison with the wrong one must fail.
  EXPECT_FALSE(CompareOutputs(RunOrFail(engine.get(), false), cases[0].expected).match);
  EXPECT_TRUE(LoadOrFail(Options(Sample("vision_xnnpack.pte")))->bundled_cases().empty());
}

TEST(Engine, WrongInputsAreRefusedWithWhatIsExpected) {
  auto engine = LoadOrFail(Options(Sample("vision_xnnpack.pte")));
  EXPECT_FALSE(engine->Run(false)) << "no inputs yet";
  const auto refused = [&](std::vector<Tensor> inputs) {
    auto set = engine->SetInputs(std::move(inputs));
    return set ? "accepted" : set.error().message;
  };
  Tensor image{
      ScalarType::kFloat32, {1, 3, 64, 64}, std::vector<std::byte>(4 * 3 * 64 * 64), false};
  EXPECT_EQ(refused({image}), "accepted");
  EXPECT_HAS(refused({}), "0 inputs were given, the model takes 1");
  EXPECT_HAS(refused({image, image}), "2 inputs were given");
  Tensor wrong = image;
  wrong.type = ScalarType::kInt32;
  EXPECT_HAS(refused({wrong}), "input 0 is f32[1,3,64,64]; given was i32[1,3,64,64]");
  wrong = image;
  wrong.shape = {1, 64, 64, 3};
  EXPECT_HAS(refused({wrong}), "given was f32[1,64,64,3]");
  wrong = image;
  wrong.data.pop_back();
  EXPECT_HAS(refused({wrong}), "needs 49152 bytes");
  // What was set before still runs.
  EXPECT_TRUE(engine->Run(false));
}

TEST(Engine, DynamicShapesRunUpToTheirBound) {
  for (const char* name : {"dynamic.pte", "dynamic_xnnpack.pte"}) {
    auto engine = LoadOrFail(Options(Fixture(name)));
    const std::vector<TensorSpec> specs = engine->inputs();
    ASSERT_EQ(specs.size(), 1U);
    EXPECT_TRUE(specs[0].dynamic);
    EXPECT_EQ(specs[0].shape, (std::vector<int64_t>{8, 4}));
    for (const int64_t batch : {8, 1, 3, 8}) {
      Tensor x{ScalarType::kFloat32, {batch, 4}, std::vector<std::byte>(16U * batch), false};
      auto set = engine->SetInputs({x});
      ASSERT_TRUE(set) << set.error().message;
      EXPECT_EQ(RunOrFail(engine.get(), false).at(0).shape, (std::vector<int64_t>{batch, 3}));
    }
    Tensor big{ScalarType::kFloat32, {9, 4}, std::vector<std::byte>(16U * 9), false};
    EXPECT_FALSE(engine->SetInputs({big}));
  }
}

TEST(Engine, ScalarsAreFixedByTheProgram) {
  auto engine = LoadOrFail(Options(Fixture("scalars.pte")));
  const std::vector<TensorSpec> specs = engine->inputs();
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_FALSE(specs[0].is_scalar);
  EXPECT_EQ(specs[1].type, ScalarType::kInt64);
  EXPECT_EQ(specs[2].type, ScalarType::kFloat64);
  EXPECT_EQ(specs[3].type, ScalarType::kBool);
  auto inputs = measure::ResolveInputs(specs, {})->tensors;
  EXPECT_TRUE(engine->SetInputs(inputs));
  inputs[1].data[0] = std::byte{4};
  auto set = engine->SetInputs(inputs);
  ASSERT_FALSE(set);
  EXPECT_HAS(set.error().message, "input 1 was fixed when the program was exported");
}

// The runtime neither takes a None nor runs without it.
TEST(Engine, AnInputThatWasNoneIsRefused) {
  EXPECT_HAS(ErrorOf(Options(Fixture("optional.pte"))), "input 1 of method \"forward\" is None");
}

TEST(Engine, OutputsAreThoseOfTheLastRunOnly) {
  Recording recording;
  auto engine = LoadOrFail(Options(Sample("vision_xnnpack.pte")));
  ASSERT_TRUE(engine->SetInputs(measure::ResolveInputs(engine->inputs(), {})->tensors));
  EXPECT_FALSE(engine->Outputs(false));
  EXPECT_FALSE(engine->Run(true)) << "not prepared";
  ASSERT_TRUE(engine->PrepareObserved());
  ASSERT_TRUE(engine->Run(true));
  EXPECT_FALSE(engine->Outputs(false));
  EXPECT_TRUE(engine->Outputs(true));
  ASSERT_TRUE(engine->Run(false));
  EXPECT_FALSE(engine->Outputs(true));
  EXPECT_TRUE(engine->Outputs(false));
}

// The state of a program that keeps some: the profiled instance has its own, or one would go on
// from where the other stopped.
TEST(Engine, StateIsKeptFromRunToRunAndNotShared) {
  Recording recording;
  for (const char* name : {"cache_portable.pte", "cache_xnnpack.pte"}) {
    auto engine = LoadOrFail(Options(Fixture(name)));
    ASSERT_TRUE(engine->PrepareObserved());
    Tensor x{ScalarType::kFloat32, {1, 1, 8}, std::vector<std::byte>(32), false};
    const float one = 1;
    for (int i = 0; i < 8; ++i) std::memcpy(&x.data[4U * i], &one, 4);
    const auto at = [&](int64_t position, bool observed) {
      Tensor index{ScalarType::kInt64, {1}, std::vector<std::byte>(8), false};
      std::memcpy(index.data.data(), &position, 8);
      EXPECT_TRUE(engine->SetInputs({x, index}));
      return RunOrFail(engine.get(), observed);
    };
    const auto empty_cache = at(0, false);
    const auto one_before = at(1, false);
    EXPECT_FALSE(SameBits(one_before, empty_cache)) << "the first key was forgotten";
    EXPECT_TRUE(SameBits(at(0, true), empty_cache)) << "the instances share their state";
    EXPECT_TRUE(SameBits(at(1, true), one_before));
  }
}

TEST(Engine, CountsTheAllocationsOfARun) {
  Recording recording;
  auto engine = LoadOrFail(Options(Sample("text_portable.pte")));
  ASSERT_TRUE(engine->SetInputs(measure::ResolveInputs(engine->inputs(), {})->tensors));
  ASSERT_TRUE(engine->Run(false));
  const profile::MemoryFacts once = engine->memory();
  ASSERT_TRUE(once.run_allocations);
  ASSERT_TRUE(engine->Run(false));
  EXPECT_EQ(*engine->memory().run_allocations, *once.run_allocations);
  EXPECT_EQ(*engine->memory().run_bytes, *once.run_bytes);
  ASSERT_TRUE(engine->PrepareObserved());
  ASSERT_TRUE(engine->Run(true));
  EXPECT_EQ(*engine->memory().run_allocations, *once.run_allocations);
}

TEST(Engine, ThreadsAreSetBeforeLoading) {
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  const auto inputs = Arrays(Sample("vision_xnnpack"), "input");
  const auto expected = Arrays(Sample("vision_xnnpack"), "expected");
  for (const int threads : {1, 2, 1, 3}) {
    options.threads = threads;
    auto engine = LoadOrFail(options);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(*engine->engine().threads, threads);
    ASSERT_TRUE(engine->SetInputs(inputs));
    EXPECT_TRUE(CompareOutputs(RunOrFail(engine.get(), false), expected).match);
    // The pool is the process's, and this engine's delegates hold on to it.
    options.threads = threads + 1;
    EXPECT_HAS(ErrorOf(options), "a loaded program uses ExecuTorch's thread pool");
  }
  options.threads = -1;
  EXPECT_HAS(ErrorOf(options), "-1 threads");
}

TEST(Engine, ErrorsSayWhatToDo) {
  EXPECT_HAS(ErrorOf(Options(Fixture("two_methods.pte"), "decode")), "has no method \"decode\"");
  EXPECT_HAS(ErrorOf(Options(Fixture("two_methods.pte"), "decode")), "its methods: ");
  EXPECT_HAS(ErrorOf(Options(Fixture("two_methods.pte"), "decode")), "encode");
  EXPECT_HAS(ErrorOf(Options("/nowhere/x.pte")), "/nowhere/x.pte");
  EXPECT_HAS(ErrorOf(Options(Fixture("external_rest.ptd"))), "give it with --data");
  EXPECT_HAS(ErrorOf(Options(SourcePath("samples/export.py"))), "not an ExecuTorch program");
  EXPECT_HAS(ErrorOf(Options(Fixture("external.pte"))), "give the .ptd files");
  const std::string one_only =
      ErrorOf(Options(Fixture("external.pte"), "forward", {Fixture("external_first.ptd")}));
  EXPECT_HAS(one_only, "ExecuTorch answered");
  EXPECT_HAS(ErrorOf(Options(Fixture("external.pte"), "forward", {"/nowhere.ptd"})),
             "/nowhere.ptd");
  EXPECT_HAS(ErrorOf(Options(Fixture("external.pte"), "forward", {Fixture("types.pte")})),
             "byte 4: not an ExecuTorch data file");
  EXPECT_HAS(ErrorOf(Options(Fixture("external.pte"), "forward",
                             {Fixture("external_first.ptd"), Fixture("external_first.ptd")})),
             "cannot use the data files together");
}

// A copy of a program in which one name is another, of the same length.
std::string Renamed(const std::string& program, const std::string& from, const std::string& to) {
  std::string bytes = *base::ReadFile(program);
  EXPECT_EQ(from.size(), to.size());
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, from.size(), to);
  const std::string path = testing::TempDir() + "/renamed." + std::to_string(getpid()) + ".pte";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(Engine, AMissingBackendAndAMissingOperatorAreNamed) {
  const std::string backend =
      Renamed(Sample("vision_xnnpack.pte"), "XnnpackBackend", "ZnnpackBackend");
  EXPECT_HAS(ErrorOf(Options(backend)),
             "the program needs backend ZnnpackBackend, which this build does not register; "
             "registered: ");
  const std::string op = Renamed(Fixture("two_methods.pte"), "aten::mul", "aten::mux");
  EXPECT_HAS(ErrorOf(Options(op)), "aten::mux");
  std::filesystem::remove(op);
}

}  // namespace
}  // namespace inferprobe::executorch_engine
