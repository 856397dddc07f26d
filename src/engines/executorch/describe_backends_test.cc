// A program of its own: it registers a backend behind our back, which the other tests must not see.
#include "engines/executorch/describe_backends.h"

#include <executorch/runtime/backend/interface.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engines/executorch/backend_registration.h"
#include "engines/executorch/test_support.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

class Idle final : public et::BackendInterface {
 public:
  explicit Idle(bool available) : available_(available) {}
  ~Idle() override = default;
  [[nodiscard]] bool is_available() const override { return available_; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext& /*context*/,
                                       et::FreeableBuffer* /*processed*/,
                                       et::ArrayRef<et::CompileSpec> /*specs*/) const override {
    return et::Error::NotSupported;
  }
  et::Error execute(et::BackendExecutionContext& /*context*/, et::DelegateHandle* /*handle*/,
                    et::Span<et::EValue*> /*args*/) const override {
    return et::Error::NotSupported;
  }

 private:
  bool available_;
};

std::map<std::string, profile::Metric<std::string>> States() {
  static Idle early(true);
  static Idle absent(false);
  static const bool registered = RegisterBehindOurBack({"EarlyBackend", &early}) == et::Error::Ok &&
                                 et::register_backend({"AbsentBackend", &absent}) == et::Error::Ok;
  EXPECT_TRUE(registered);
  std::map<std::string, profile::Metric<std::string>> states;
  for (const auto& backend : DescribeBackends()) states[backend.name] = backend.state;
  return states;
}

TEST(DescribeBackends, AnUnmodifiedOneIsSeenFromOutside) {
  const auto state = States().at("XnnpackBackend");
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->starts_with("from outside: calls, loading")) << *state;
}

TEST(DescribeBackends, OneThatWasThereBeforeUsIsNotSeen) {
  const auto state = States().at("EarlyBackend");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.missing().status, profile::Status::kUnavailable);
  EXPECT_TRUE(state.missing().hint.starts_with("it was registered before"));
  EXPECT_EQ(UnwrappedBackends(), std::vector<std::string>{"EarlyBackend"});
}

TEST(DescribeBackends, OneWhoseRuntimeIsMissingSaysSo) {
  const auto state = States().at("AbsentBackend");
  ASSERT_FALSE(state);
  EXPECT_TRUE(state.missing().hint.starts_with("it says itself")) << state.missing().hint;
}

}  // namespace
}  // namespace inferprobe::executorch_engine
