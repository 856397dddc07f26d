#include "measure/engine_registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "measure/model_name.h"

namespace inferprobe::measure {
namespace {

class EngineRegistryTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.File(name), std::ios::binary) << bytes;
    return folder_.File(name);
  }
  base::TemporaryFolder folder_;
};

TEST_F(EngineRegistryTest, AColonBehindPythonBeginsAFunction) {
  struct Case {
    const char* model;
    const char* file;
    const char* factory;
    bool python;
  };
  const Case cases[] = {
      {"net.py:make", "net.py", "make", true},
      {"a:b/net.py:make.it", "a:b/net.py", "make.it", true},
      {"net.py", "net.py", "", true},
      {"net.py:", "net.py", "", true},
      {"net.pte", "net.pte", "", false},
      {"c:net.pt2", "c:net.pt2", "", false},
      {"x.py:y.py:z", "x.py:y.py", "z", true},
      {"", "", "", false},
      {"net.python:f", "net.python:f", "", false},
  };
  for (const Case& one : cases) {
    const ModelName name = SplitModelName(one.model);
    EXPECT_EQ(name.file, one.file) << one.model;
    EXPECT_EQ(name.factory, one.factory) << one.model;
    EXPECT_EQ(name.python, one.python) << one.model;
  }
}

TEST_F(EngineRegistryTest, AFileOfTheWholeNameIsThatFile) {
  const std::string path = Write("odd.py:name", "....ET12");
  EXPECT_EQ(SplitModelName(path).file, path);
  EXPECT_EQ(*EngineForFile(path), "executorch");
}

TEST_F(EngineRegistryTest, AnEngineIsFoundByTheContentOfTheFile) {
  EXPECT_EQ(*EngineForFile(Write("a.bin", "....ET12")), "executorch");
  EXPECT_EQ(*EngineForFile(Write("b.bin", std::string("PK\3\4rest"))), "torch");
  EXPECT_EQ(*EngineForFile(Write("c.py", "") + ":make"), "torch");
}

TEST_F(EngineRegistryTest, WhatIsNoModelIsSaid) {
  const auto unknown = EngineForFile(Write("a.bin", "hello"));
  EXPECT_NE(unknown.error().message.find("is not a model"), std::string::npos);
  EXPECT_NE(unknown.error().hint.find("FILE.py:FUNCTION"), std::string::npos);
  const auto unnamed = EngineForFile(Write("b.py", ""));
  EXPECT_NE(unnamed.error().hint.find("b.py:make_model"), std::string::npos);
  const auto missing = EngineForFile(folder_.path() + "/none.py:make");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message.find(":make"), std::string::npos);
}

class NoPlugin final : public EnginePlugin {
 public:
  Result<EngineDescription> Describe() override { return EngineDescription{}; }
  Result<std::unique_ptr<Engine>> Load(const LoadOptions& /*options*/) override {
    return MakeError(ErrorCode::kEngine, "none");
  }
};

TEST_F(EngineRegistryTest, ARegisteredPluginIsFoundBeforeAnyFile) {
  const auto elsewhere = LoadPlugin("torch");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(elsewhere.error().message.find("Python"), std::string::npos);
  static NoPlugin plugin;
  RegisterPlugin("torch", &plugin);
  EXPECT_EQ(*LoadPlugin("torch"), &plugin);
}

}  // namespace
}  // namespace inferprobe::measure
