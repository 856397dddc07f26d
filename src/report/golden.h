// For tests: what is printed, against what was printed when somebody looked at it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace inferprobe::report {

// Compares with tests/golden/report/<name>; INFERPROBE_UPDATE_GOLDEN=1 writes it instead.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = INFERPROBE_SOURCE_DIR "/tests/golden/report/" + name;
  if (std::getenv("INFERPROBE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text, expected.str()) << path << ": INFERPROBE_UPDATE_GOLDEN=1 accepts the new text";
}

}  // namespace inferprobe::report
