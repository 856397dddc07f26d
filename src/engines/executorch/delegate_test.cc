// Delegates from outside: backends that know nothing of us, at every level, in one process.
#include <executorch/runtime/backend/interface.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/temporary_folder.h"
#include "engines/executorch/backend_registration.h"
#include "engines/executorch/delegate_options.h"
#include "engines/executorch/test_support.h"
#include "inferprobe/executorch_delegate.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
using record::CellType;

// A backend that inferprobe has no line about. As long as XNNPACK's, whose place it takes in a
// sample program: there is no exporter for a backend that does not exist.
constexpr const char* kUnseen = "UnseenBackend1";

// Does nothing but look at what it is given: outputs stay as the plan left them.
class UnseenBackend final : public et::BackendInterface {
 public:
  struct Seen {
    bool init_tracer = false;
    bool execute_tracer = false;
    std::vector<std::string> keys;
    int executed = 0;
  };
  ~UnseenBackend() override = default;
  [[nodiscard]] bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* /*processed*/,
                                       et::ArrayRef<et::CompileSpec> /*specs*/) const override {
    auto* seen = new Seen;
    seen->init_tracer = context.event_tracer() != nullptr;
    for (const et::BackendOption& option : context.runtime_specs()) {
      seen->keys.emplace_back(option.key);
    }
    all().push_back(seen);
    return static_cast<et::DelegateHandle*>(seen);
  }
  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                    et::Span<et::EValue*> /*args*/) const override {
    auto* seen = static_cast<Seen*>(handle);
    ++seen->executed;
    seen->execute_tracer = context.event_tracer() != nullptr;
    const auto entry =
        et::event_tracer_start_profiling_delegate(context.event_tracer(), "its own", -1);
    et::event_tracer_end_profiling_delegate(context.event_tracer(), entry);
    return et::Error::Ok;
  }
  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Seen*>(handle); }
  static std::vector<Seen*>& all() {
    static std::vector<Seen*> seen;
    return seen;
  }
};

class Unseen : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static UnseenBackend backend;
    static const et::Error registered = et::register_backend({kUnseen, &backend});
    ASSERT_EQ(registered, et::Error::Ok);
  }
  void SetUp() override {
    std::string bytes = *base::ReadFile(Sample("vision_xnnpack.pte"));
    const std::string known = "XnnpackBackend";
    for (size_t at = bytes.find(known); at != std::string::npos; at = bytes.find(known, at)) {
      bytes.replace(at, known.size(), kUnseen);
    }
    program_ = folder_.File("unseen.pte");
    ASSERT_TRUE(base::WriteFileAtomically(program_, bytes, base::Overwrite::kRefuse));
    UnseenBackend::all().clear();
  }
  // Names of the host-wall events of the delegate, of one observed run; "load" of its load.
  std::map<std::string, int> Run(ProfileLevel level) {
    Recording recording;
    measure::LoadOptions options = Options(program_);
    options.delegates.level = level;
    engine_ = LoadOrFail(options);
    if (engine_ == nullptr) return {};
    EXPECT_TRUE(
        engine_->SetInputs(As(engine_->inputs(), Arrays(Sample("vision_xnnpack"), "input"))));
    EXPECT_TRUE(engine_->PrepareObserved());
    EXPECT_TRUE(engine_->Run(true));
    std::map<std::string, int> counts;
    for (const NamedCell& cell : recording.Take()) {
      if (cell.type() == CellType::kOther || cell.type() == CellType::kDelegateCall) {
        ++counts[cell.name];
      }
    }
    return counts;
  }

  base::TemporaryFolder folder_;
  std::string program_;
  std::unique_ptr<ExecutorchEngine> engine_;
};

TEST_F(Unseen, EachCallAndEachLoadIsAnEvent) {
  const auto counts = Run(ProfileLevel::kDelegate);
  const int calls = counts.at("DELEGATE_CALL");
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(counts.at("unseenbackend1.delegate"), calls);
  EXPECT_EQ(counts.at("unseenbackend1.delegate_load"), 2);
  EXPECT_EQ(counts.at("its own"), calls);
}

TEST_F(Unseen, AtOffItRunsWithoutATracerAndUnseen) {
  const auto counts = Run(ProfileLevel::kOff);
  EXPECT_EQ(counts.count("unseenbackend1.delegate"), 0U);
  EXPECT_EQ(counts.count("unseenbackend1.delegate_load"), 0U);
  EXPECT_EQ(counts.count("its own"), 0U);
  EXPECT_EQ(counts.at("DELEGATE_CALL"), 2);  // the runtime's own
  ASSERT_EQ(UnseenBackend::all().size(), 4U);
  for (const auto* seen : UnseenBackend::all()) {
    EXPECT_FALSE(seen->init_tracer);
    EXPECT_FALSE(seen->execute_tracer);
  }
}

// The instance that latency comes from is not profiled, whatever is asked of the other.
TEST_F(Unseen, ThePlainInstanceStaysPlain) {
  Run(ProfileLevel::kLayers);
  ASSERT_TRUE(engine_->Run(false));
  ASSERT_EQ(UnseenBackend::all().size(), 4U);
  EXPECT_FALSE(UnseenBackend::all()[0]->execute_tracer);
  EXPECT_FALSE(UnseenBackend::all()[1]->execute_tracer);
  EXPECT_TRUE(UnseenBackend::all()[2]->execute_tracer);
  EXPECT_TRUE(UnseenBackend::all()[3]->execute_tracer);
}

TEST_F(Unseen, OurKeysDoNotReachIt) {
  Run(ProfileLevel::kDelegate);
  for (const auto* seen : UnseenBackend::all()) EXPECT_TRUE(seen->keys.empty());
}

TEST(Delegates, AllOfThisProcessAreSeen) {
  RegisterOwnBackends();
  EXPECT_TRUE(UnwrappedBackends().empty());
  EXPECT_TRUE(HasStockOpenvino());
}

// A message beyond ExecuTorch's 255 bytes a line.
TEST(Delegates, WhatALoadRefusesIsSaidInFull) {
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  options.delegates.level = ProfileLevel::kPhases;
  options.delegates.format = ProfileFormat::kPerfetto;
  options.delegates.path_prefix = "/nowhere/" + std::string(200, 'x');
  auto engine = LoadOrFail(options);
  ASSERT_NE(engine, nullptr);
  const auto prepared = engine->PrepareObserved();
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message,
            "cannot load method \"forward\": xnnpackbackend_profile_path_prefix: \"/nowhere/" +
                std::string(71, 'x') +
                "...\": No such file or directory (give a folder that exists and may be written "
                "to)");
}

TEST(Delegates, AnOptionThatExecutorchWouldCutIsRefused) {
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  options.delegates.level = ProfileLevel::kPhases;
  options.delegates.path_prefix = std::string(256, 'x');
  auto engine = LoadOrFail(options);
  ASSERT_NE(engine, nullptr);
  const auto prepared = engine->PrepareObserved();
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message,
            "xnnpackbackend_profile_path_prefix: the value has 256 bytes; ExecuTorch takes 255");
}

bool IsWholeCall(const NamedCell& cell) {
  return cell.type() == CellType::kOther && cell.name == "xnnpackbackend.delegate";
}

struct XnnpackAt {
  ProfileLevel level;
  bool whole_call;
  bool its_own;
};

TEST(Delegates, XnnpacksOwnRecordsAreKeptAtEveryLevelButOff) {
  for (const XnnpackAt& it :
       {XnnpackAt{ProfileLevel::kOff, false, false}, XnnpackAt{ProfileLevel::kDelegate, true, true},
        XnnpackAt{ProfileLevel::kPhases, true, true},
        XnnpackAt{ProfileLevel::kLayers, true, true}}) {
    Recording recording;
    measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
    options.delegates.level = it.level;
    const auto engine = LoadOrFail(options);
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(engine->SetInputs(As(engine->inputs(), Arrays(Sample("vision_xnnpack"), "input"))));
    ASSERT_TRUE(engine->PrepareObserved());
    recording.Take();
    ASSERT_TRUE(engine->Run(true));
    int whole_calls = 0;
    int own = 0;
    for (const NamedCell& cell : recording.Take()) {
      whole_calls += IsWholeCall(cell) ? 1 : 0;
      own += cell.type() == CellType::kDelegateOp ? 1 : 0;
    }
    EXPECT_EQ(whole_calls, it.whole_call ? 2 : 0) << ProfileLevelName(it.level);
    EXPECT_EQ(own > 0, it.its_own) << ProfileLevelName(it.level);
  }
}

TEST(Delegates, NoLevelChangesAnOutput) {
  for (const char* name : {"vision_xnnpack", "text_xnnpack"}) {
    std::vector<std::vector<Tensor>> outputs;
    for (const ProfileLevel level : {ProfileLevel::kOff, ProfileLevel::kDelegate,
                                     ProfileLevel::kPhases, ProfileLevel::kLayers}) {
      Recording recording;
      measure::LoadOptions options = Options(Sample(std::string(name) + ".pte"));
      options.delegates.level = level;
      const auto engine = LoadOrFail(options);
      ASSERT_NE(engine, nullptr);
      ASSERT_TRUE(engine->SetInputs(As(engine->inputs(), Arrays(Sample(name), "input"))));
      ASSERT_TRUE(engine->PrepareObserved());
      ASSERT_TRUE(engine->Run(true));
      outputs.push_back(*engine->Outputs(true));
    }
    for (const auto& other : outputs) {
      for (size_t i = 0; i < other.size(); ++i)
        EXPECT_EQ(other[i].data, outputs[0][i].data) << name;
    }
  }
}

// Two methods in one process, at levels of their own.
TEST(Delegates, MethodsAtDifferentLevelsLeaveEachOtherAlone) {
  Recording recording;
  std::vector<std::unique_ptr<ExecutorchEngine>> engines;
  for (const ProfileLevel level : {ProfileLevel::kDelegate, ProfileLevel::kOff}) {
    measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
    options.delegates.level = level;
    engines.push_back(LoadOrFail(options));
    ASSERT_TRUE(engines.back()->SetInputs(
        As(engines.back()->inputs(), Arrays(Sample("vision_xnnpack"), "input"))));
    ASSERT_TRUE(engines.back()->PrepareObserved());
  }
  recording.Take();
  for (const size_t which : {0, 1, 0, 1}) {
    ASSERT_TRUE(engines[which]->Run(true));
    int whole_calls = 0;
    for (const NamedCell& cell : recording.Take()) {
      whole_calls += IsWholeCall(cell) ? 1 : 0;
    }
    EXPECT_EQ(whole_calls, which == 0 ? 2 : 0);
  }
}

struct Choice {
  std::vector<std::string> given;
  bool stock;
  std::optional<bool> async;
  const char* refused;
};

TEST(DelegateChoices, OfTheCommandLine) {
  const std::vector<Choice> cases = {
      {{}, false, std::nullopt, nullptr},
      {{"openvino=ours"}, false, false, nullptr},
      {{"openvino=async"}, false, true, nullptr},
      {{"openvino=stock"}, true, false, nullptr},
      {{"openvino=stock", "openvino=stock"}, true, false, nullptr},
      {{"openvino=stock", "openvino=async"},
       false,
       false,
       "two delegates are chosen: openvino=stock and openvino=async"},
      {{"openvino"}, false, false, "no such delegate to choose: \"openvino\""},
      {{"openvino=mine"}, false, false, "no such delegate to choose: \"openvino=mine\""},
      {{"xnnpack=stock"}, false, false, "no such delegate to choose: \"xnnpack=stock\""},
  };
  for (const Choice& it : cases) {
    const auto parsed = ParseDelegateChoices(it.given);
    if (it.refused != nullptr) {
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().message, it.refused);
      continue;
    }
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->stock_openvino, it.stock);
    EXPECT_EQ(parsed->async_openvino, it.async);
  }
}

struct Levels {
  std::vector<std::string> given;
  std::map<std::string, ProfileLevel> parsed;
  const char* refused;
};

TEST(DelegateLevels, OfSingleDelegates) {
  const std::vector<Levels> cases = {
      {{}, {}, nullptr},
      {{"openvino=layers", "xnnpackbackend=off"},
       {{"openvino", ProfileLevel::kLayers}, {"xnnpackbackend", ProfileLevel::kOff}},
       nullptr},
      {{"a=off", "a=off"}, {{"a", ProfileLevel::kOff}}, nullptr},
      {{"a=layers", "b=off", "a=off"}, {}, "two levels of a: layers and off"},
      {{"=layers"}, {}, "level \"=layers\" names no delegate"},
      {{"a="}, {}, "level of a: \"\" is not one of off, delegate, phases, layers"},
  };
  for (const Levels& it : cases) {
    const auto parsed = ParseDelegateLevels(it.given);
    if (it.refused != nullptr) {
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().message, it.refused);
      continue;
    }
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, it.parsed);
  }
}

// An id comes out of the program.
TEST(Delegates, AnUnknownIdIsShownWithoutItsControlCharacters) {
  std::string bytes = *base::ReadFile(Sample("vision_xnnpack.pte"));
  const std::string known = "XnnpackBackend";
  for (size_t at = bytes.find(known); at != std::string::npos; at = bytes.find(known, at)) {
    bytes.replace(at, known.size(), "Bad\n\x1b[2JBacken");
  }
  const base::TemporaryFolder folder;
  const std::string path = folder.File("bad.pte");
  ASSERT_TRUE(base::WriteFileAtomically(path, bytes, base::Overwrite::kRefuse));
  const auto engine = ExecutorchEngine::Load(Options(path));
  ASSERT_FALSE(engine);
  EXPECT_TRUE(engine.error().message.starts_with(
      "the program needs backend Bad\\n\\x1b[2JBacken, which this build does not register"))
      << engine.error().message;
}

}  // namespace
}  // namespace inferprobe::executorch_engine
