#include "measure/worker_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace inferprobe::measure {
namespace {

// A Python that says `answer` to whatever it is asked.
std::string FakePython(const std::string& path, const std::string& answer, int exit_code = 0) {
  std::ofstream(path) << "#!/bin/sh\necho '" << answer << "'\nexit " << exit_code << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

class WorkerCommandTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("INFERPROBE_PYTHON");
    setenv("PATH", path_.c_str(), 1);
  }
  std::string File(const std::string& name) { return folder_.File(name); }

  base::TemporaryFolder folder_;
  std::string path_ = std::getenv("PATH");
  const std::string good_ = "inferprobe-python " INFERPROBE_VERSION " True";
};

TEST_F(WorkerCommandTest, AnEngineWithAPluginRunsInThisProgramOrTheOneThatIsNamed) {
  auto own = WorkerCommandFor("executorch", "", "");
  ASSERT_TRUE(own);
  EXPECT_NE(own->program.find("measure_test"), std::string::npos);
  EXPECT_EQ(own->args, std::vector<std::string>{"worker"});
  EXPECT_EQ(WorkerCommandFor("fake", "/bin/other", "")->program, "/bin/other");
}

TEST_F(WorkerCommandTest, WhoNamesAPythonGetsThatOne) {
  const std::string argument = FakePython(File("a"), good_);
  const std::string variable = FakePython(File("b"), good_);
  setenv("INFERPROBE_PYTHON", variable.c_str(), 1);
  EXPECT_EQ(WorkerCommandFor("torch", "/bin/other", "")->program, variable);
  EXPECT_EQ(WorkerCommandFor("torch", "", argument)->program, argument);
}

TEST_F(WorkerCommandTest, TheFirstInPathThatHasAllIsTaken) {
  std::filesystem::create_directories(File("one"));
  std::filesystem::create_directories(File("two"));
  FakePython(File("one/python3"), "inferprobe-python " INFERPROBE_VERSION " False");
  const std::string second = FakePython(File("two/python3"), good_);
  setenv("PATH", (File("one") + ":" + File("two") + ":" + path_).c_str(), 1);
  EXPECT_EQ(WorkerCommandFor("torch", "", "")->program, second);
}

TEST_F(WorkerCommandTest, WhatIsMissingIsSaid) {
  struct Case {
    std::string answer;
    int exit_code;
    std::string expected;
  };
  const Case cases[] = {
      {"ModuleNotFoundError: No module named inferprobe", 1, "exited with 1: ModuleNotFoundError"},
      {"inferprobe-python 0.0.1 True", 0, "it has inferprobe 0.0.1, and this is "},
      {"inferprobe-python " INFERPROBE_VERSION " False", 0, "it has no torch"},
      {"", 0, "no answer"},
  };
  for (const Case& one : cases) {
    const auto command =
        WorkerCommandFor("torch", "", FakePython(File("python"), one.answer, one.exit_code));
    ASSERT_FALSE(command) << one.answer;
    EXPECT_EQ(command.error().code, ErrorCode::kNotBuiltIn);
    EXPECT_NE(command.error().message.find(one.expected), std::string::npos)
        << command.error().message;
    EXPECT_NE(command.error().hint.find("INFERPROBE_PYTHON"), std::string::npos);
  }
  EXPECT_NE(WorkerCommandFor("torch", "", File("none")).error().message.find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace inferprobe::measure
