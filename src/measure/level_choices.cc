#include "measure/level_choices.h"

#include <fmt/format.h>

#include <optional>

#include "inferprobe/config.h"

namespace inferprobe::measure {

Result<LevelChoices> ParseLevelChoices(const std::vector<std::string>& texts) {
  LevelChoices choices;
  std::optional<std::string> all;
  for (const std::string& text : texts) {
    if (text.find('=') != std::string::npos) {
      choices.of_delegates.push_back(text);
      continue;
    }
    auto level = ParseProfileLevel("level", text);
    if (!level) return tl::unexpected(level.error());
    if (all && *all != text) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("two levels for all delegates: {} and {}", *all, text),
                       "give one, and others by name: openvino=layers");
    }
    all = text;
  }
  if (all) choices.all = *all;
  return choices;
}

}  // namespace inferprobe::measure
