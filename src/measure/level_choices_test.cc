#include "measure/level_choices.h"

#include <gtest/gtest.h>

namespace inferprobe::measure {
namespace {

struct Case {
  std::vector<std::string> given;
  const char* all;
  std::vector<std::string> of_delegates;
  const char* refused;
};

TEST(LevelChoices, OneForAllAndOthersByName) {
  const std::vector<Case> cases = {
      {{}, "delegate", {}, nullptr},
      {{"layers"}, "layers", {}, nullptr},
      {{"off", "off"}, "off", {}, nullptr},
      {{"openvino=layers"}, "delegate", {"openvino=layers"}, nullptr},
      {{"off", "openvino=layers", "xnnpackbackend=phases"},
       "off",
       {"openvino=layers", "xnnpackbackend=phases"},
       nullptr},
      {{"phases", "off"}, "", {}, "two levels for all delegates: phases and off"},
      {{"all"}, "", {}, "level: \"all\" is not one of off, delegate, phases, layers"},
      {{""}, "", {}, "level: \"\" is not one of off, delegate, phases, layers"},
  };
  for (const Case& it : cases) {
    const auto parsed = ParseLevelChoices(it.given);
    if (it.refused != nullptr) {
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(parsed.error().message, it.refused);
      continue;
    }
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->all, it.all);
    EXPECT_EQ(parsed->of_delegates, it.of_delegates);
  }
}

}  // namespace
}  // namespace inferprobe::measure
