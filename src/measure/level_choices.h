// The levels that a user gives to `perf --level` or to run(level=...): one for all delegates, and
// others for single delegates by name.
//
//   auto levels = ParseLevelChoices({"phases", "openvino=layers"});
//   levels->all;           // "phases"
//   levels->of_delegates;  // {"openvino=layers"}
//
// The rule that people break: nothing is decided between two levels that contradict each other. The
// engine checks those of single delegates, as it alone knows their names.
#pragma once

#include <string>
#include <vector>

#include "inferprobe/result.h"

namespace inferprobe::measure {

struct LevelChoices {
  std::string all = "delegate";
  std::vector<std::string> of_delegates;
};

Result<LevelChoices> ParseLevelChoices(const std::vector<std::string>& texts);

}  // namespace inferprobe::measure
