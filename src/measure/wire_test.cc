#include "measure/wire.h"

#include <gtest/gtest.h>

namespace inferprobe::measure {
namespace {

template <typename T>
T RoundTrip(const T& message) {
  auto decoded = Decode(Encode(message));
  EXPECT_TRUE(decoded);
  return std::get<T>(*decoded);
}

TEST(Wire, PlanKeepsPathsThatAreNoUtf8AndOptionalValues) {
  PlanMessage plan;
  plan.options.model = "/tmp/\xff\xfe \"quoted\"\n.pte";
  plan.options.inputs = {"x=a.npy", "1=b.npy"};
  plan.options.seed = UINT64_MAX;
  plan.options.iterations = 7;
  plan.process = 65535;
  const PlanMessage back = RoundTrip(plan);
  EXPECT_EQ(back.options.model, plan.options.model);
  EXPECT_EQ(back.options.inputs, plan.options.inputs);
  EXPECT_EQ(back.options.seed, UINT64_MAX);
  EXPECT_EQ(back.options.iterations, 7U);
  EXPECT_FALSE(back.options.duration_s);
  EXPECT_EQ(back.process, 65535);
}

TEST(Wire, MetricsKeepTheirReasons) {
  DoneMessage done;
  done.memory.planned_bytes = int64_t{0};
  done.memory.run_bytes = {profile::Status::kUnsupported, "why \xc3"};
  const DoneMessage back = RoundTrip(done);
  ASSERT_TRUE(back.memory.planned_bytes);
  EXPECT_EQ(*back.memory.planned_bytes, 0);
  ASSERT_FALSE(back.memory.run_bytes);
  EXPECT_EQ(back.memory.run_bytes.missing().status, profile::Status::kUnsupported);
  EXPECT_EQ(back.memory.run_bytes.missing().hint, "why \xc3");
  EXPECT_EQ(back.memory.peak_rss_bytes.missing().status, profile::Status::kNotMeasured);
}

TEST(Wire, FactsArriveWhole) {
  LoadedMessage loaded;
  profile::InputFacts input;
  input.spec.type = ScalarType::kBfloat16;
  input.spec.dynamic = true;
  input.source = "seed 3";
  loaded.model.inputs = {input};
  loaded.model.instruction_names = {"add.out", ""};
  loaded.model.instruction_delegates = {-1, 0};
  loaded.model.delegates = {{0, "XnnpackBackend", 12, "abc-0"}};
  loaded.event_cost_ns = 18.5;
  const LoadedMessage back = RoundTrip(loaded);
  EXPECT_EQ(back.model.inputs[0].spec.type, ScalarType::kBfloat16);
  EXPECT_TRUE(back.model.inputs[0].spec.dynamic);
  EXPECT_EQ(back.model.instruction_delegates, loaded.model.instruction_delegates);
  EXPECT_EQ(back.model.delegates[0].engine_id, "abc-0");
  EXPECT_EQ(back.event_cost_ns, 18.5);
}

TEST(Wire, AnotherVersionIsRefusedWithBoth) {
  const Result<Message> other = Decode(Encode(DrainMessage{}, "0.0.1"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().message.find("0.0.1"), std::string::npos);
  EXPECT_NE(other.error().message.find(INFERPROBE_VERSION), std::string::npos);
}

TEST(Wire, ModulesArriveWhole) {
  LoadedMessage loaded;
  profile::ModuleFacts& facts = loaded.model.modules;
  profile::Module root;
  root.class_name = "Net";
  root.chosen = false;
  profile::Module conv;
  conv.path = "features.\xff";
  conv.also = {"shared", "a.b"};
  conv.class_name = "Conv2d";
  conv.parent = 0;
  conv.parameters = UINT64_MAX;
  conv.not_covered = "a ScriptModule";
  facts.tree = {root, conv};
  facts.operators = true;
  facts.memory = {profile::Status::kNotRequested, "memory=True"};
  facts.device = false;
  facts.clock_error_ns = 0.5;
  loaded.model.notes = {"in evaluation mode"};
  facts.not_covered = {{"replicas", "they are other modules"}};
  EXPECT_EQ(RoundTrip(loaded).model.notes, loaded.model.notes);
  const profile::ModuleFacts back = RoundTrip(loaded).model.modules;
  ASSERT_EQ(back.tree.size(), 2U);
  EXPECT_EQ(back.tree[0].class_name, "Net");
  EXPECT_FALSE(back.tree[0].chosen);
  EXPECT_EQ(back.tree[0].parent, profile::kNone);
  EXPECT_EQ(back.tree[1].path, conv.path);
  EXPECT_EQ(back.tree[1].also, conv.also);
  EXPECT_EQ(back.tree[1].parent, 0U);
  EXPECT_EQ(back.tree[1].parameters, UINT64_MAX);
  EXPECT_TRUE(back.tree[1].chosen);
  EXPECT_EQ(back.tree[1].not_covered, "a ScriptModule");
  EXPECT_TRUE(back.operators && *back.operators);
  ASSERT_FALSE(back.memory);
  EXPECT_EQ(back.memory.missing().status, profile::Status::kNotRequested);
  EXPECT_EQ(back.memory.missing().hint, "memory=True");
  EXPECT_TRUE(back.device && !*back.device);
  EXPECT_EQ(*back.clock_error_ns, 0.5);
  ASSERT_EQ(back.not_covered.size(), 1U);
  EXPECT_EQ(back.not_covered[0].what, "replicas");
  EXPECT_EQ(back.not_covered[0].why, "they are other modules");
}

TEST(Wire, BrokenMessagesAreErrors) {
  const std::string good = Encode(ErrorMessage{{ErrorCode::kEngine, "m", "h"}});
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(Decode(std::string_view(good).substr(0, length))) << length;
  }
  EXPECT_FALSE(Decode(std::string(1000, '\xff')));
  const Result<Message> whole = Decode(good);
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::get<ErrorMessage>(*whole).error.message, "m");
}

}  // namespace
}  // namespace inferprobe::measure
