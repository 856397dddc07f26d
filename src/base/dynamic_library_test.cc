#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

TEST(DynamicLibrary, GivesSymbolsAndKeepsThemLocal) {
  auto library = DynamicLibrary::Open(INFERPROBE_TEST_PLUGIN);
  ASSERT_TRUE(library) << library.error().message;
  const auto symbol = library->Symbol("InferprobeTestAnswer");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(reinterpret_cast<int (*)()>(*symbol)(), 42);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "InferprobeTestAnswer"), nullptr);
}

// With RTLD_DEEPBIND the plugin would call its own InferprobeTestHook.
TEST(DynamicLibrary, ThisProgramsExportsWinOverThePlugins) {
  auto library = DynamicLibrary::Open(INFERPROBE_TEST_PLUGIN);
  ASSERT_TRUE(library);
  const auto symbol = library->Symbol("InferprobeTestCallsHook");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(reinterpret_cast<int (*)()>(*symbol)(), 1);
}

TEST(DynamicLibrary, AMissingSymbolIsNamed) {
  auto library = DynamicLibrary::Open(INFERPROBE_TEST_PLUGIN);
  ASSERT_TRUE(library);
  const auto symbol = library->Symbol("NoSuchSymbol");
  ASSERT_FALSE(symbol);
  EXPECT_EQ(symbol.error().code, ErrorCode::kNotFound);
  EXPECT_NE(symbol.error().message.find("NoSuchSymbol"), std::string::npos);
}

TEST(DynamicLibrary, ErrorsTellMissingFromBroken) {
  const TemporaryFolder folder;
  const auto missing = DynamicLibrary::Open(folder.File("none.so"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);

  std::ofstream(folder.File("text.so")) << "not a library";
  const auto broken = DynamicLibrary::Open(folder.File("text.so"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(broken.error().message.find("text.so"), std::string::npos);

  EXPECT_FALSE(DynamicLibrary::Open(""));
}

TEST(DynamicLibrary, MovesAndCloses) {
  auto library = DynamicLibrary::Open(INFERPROBE_TEST_PLUGIN);
  ASSERT_TRUE(library);
  {
    const DynamicLibrary moved = std::move(*library);
    EXPECT_TRUE(moved.Symbol("InferprobeTestAnswer"));
  }
  EXPECT_EQ(dlopen(INFERPROBE_TEST_PLUGIN, RTLD_NOLOAD | RTLD_NOW), nullptr);
}

}  // namespace
}  // namespace inferprobe::base

// Exported by this program (it is linked with -rdynamic), and by the plugin with another answer.
extern "C" __attribute__((visibility("default"))) int InferprobeTestHook() { return 1; }
