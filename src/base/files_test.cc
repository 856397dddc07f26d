#include "base/files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

TEST(ReadFile, GivesTheBytes) {
  const TemporaryFolder folder;
  const std::string bytes("a\0\xff\n", 4);
  std::ofstream(folder.File("x"), std::ios::binary) << bytes;
  EXPECT_EQ(*ReadFile(folder.File("x")), bytes);
}

TEST(ReadFile, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const auto missing = ReadFile(folder.File("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find(folder.File("none")), std::string::npos);

  const auto directory = ReadFile(folder.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(directory.error().message.find("folder"), std::string::npos);
}

TEST(ReadFile, AFileAboveTheLimitIsMalformed) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x")) << "12345";
  EXPECT_TRUE(ReadFile(folder.File("x"), 5));
  const auto read = ReadFile(folder.File("x"), 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kMalformed);
}

TEST(MappedFile, HasTheBytesAndMoves) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x")) << "mapped";
  auto file = MappedFile::Open(folder.File("x"));
  ASSERT_TRUE(file);
  const MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes(), "mapped");
}

TEST(MappedFile, AnEmptyFileIsAnEmptyView) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x")) << "";
  const auto file = MappedFile::Open(folder.File("x"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST(Paths, DirectoryOf) {
  EXPECT_EQ(DirectoryOf("a"), ".");
  EXPECT_EQ(DirectoryOf("/a"), "/");
  EXPECT_EQ(DirectoryOf("a/b/c"), "a/b");
  EXPECT_TRUE(FileExists(ExecutablePath()));
}

TEST(ListDirectory, IsSortedAndEmptyWhereThereIsNone) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", "c"}) std::ofstream(folder.File(name)) << "";
  EXPECT_EQ(ListDirectory(folder.path()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(ListDirectory(folder.File("none")).empty());
}

TEST(Sha256Hex, OfTheStandardsExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(RandomHex128, Is32DigitsAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string id = RandomHex128();
    EXPECT_EQ(id.size(), 32U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 100U);
}

}  // namespace
}  // namespace inferprobe::base
