#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
  EXPECT_EQ(directory.error().code, ErrorCode::kMalformed);
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

TEST(CheckReadableFile, TellsTheReason) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string file = folder.File("m.pte");
  std::ofstream(file) << "x";
  EXPECT_TRUE(CheckReadableFile(file));
  const auto reason = [](const std::string& path) {
    const auto result = CheckReadableFile(path);
    return result ? Error{ErrorCode::kInternal, "no error", ""} : result.error();
  };
  EXPECT_EQ(reason("").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(reason(folder.path()).message, folder.path() + " is a folder");
  EXPECT_EQ(reason(folder.File("none")).code, ErrorCode::kNotFound);
  EXPECT_EQ(reason(file + "/x").code, ErrorCode::kIo);
  EXPECT_EQ(reason(file + "/x").message, "cannot open " + file + "/x: Not a directory");
  ASSERT_EQ(symlink("loop", folder.File("loop").c_str()), 0);
  EXPECT_EQ(reason(folder.File("loop")).code, ErrorCode::kIo);
  ASSERT_EQ(chmod(file.c_str(), 0000), 0);
  const WithoutRoot nobody;
  EXPECT_EQ(reason(file).message, "cannot open " + file + ": Permission denied");
}

TEST(CheckReadableFile, APipeIsRefusedWithoutWaiting) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(10);
    const auto result = ReadFile(folder.File("pipe"));
    _exit(!result && result.error().code == ErrorCode::kMalformed ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SameFile, ByAnyName) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x")) << "1";
  std::ofstream(folder.File("y")) << "1";
  ASSERT_EQ(mkdir(folder.File("dir").c_str(), 0755), 0);
  ASSERT_EQ(symlink("x", folder.File("symbolic").c_str()), 0);
  ASSERT_EQ(link(folder.File("x").c_str(), folder.File("hard").c_str()), 0);
  for (const char* name : {"x", "./x", "dir/../x", "symbolic", "hard", "/x"}) {
    EXPECT_TRUE(SameFile(folder.File("x"), folder.File(name))) << name;
  }
  EXPECT_FALSE(SameFile(folder.File("x"), folder.File("y")));
  EXPECT_FALSE(SameFile(folder.File("x"), folder.File("none")));
}

TEST(SameFile, OfNamesThatDoNotExistYet) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkdir(folder.File("dir").c_str(), 0755), 0);
  ASSERT_EQ(symlink("dir", folder.File("link").c_str()), 0);
  EXPECT_TRUE(SameFile(folder.File("new"), folder.File("./new")));
  EXPECT_TRUE(SameFile(folder.File("new"), folder.File("dir/../new")));
  EXPECT_TRUE(SameFile(folder.File("dir/new"), folder.File("link/new")));
  EXPECT_TRUE(SameFile("new", "./new"));
  EXPECT_FALSE(SameFile(folder.File("new"), folder.File("dir/new")));
  EXPECT_FALSE(SameFile(folder.File("no/new"), folder.File("none/new")));
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

TEST(MappedFile, AFileOfTheSystemsIsNotCalledEmpty) {
  const auto file = MappedFile::Open("/proc/self/status");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message,
            "/proc/self/status has no size: its bytes are made as they are read");
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
