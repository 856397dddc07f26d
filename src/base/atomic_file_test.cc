#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

std::string ContentOf(const std::string& path) {
  auto content = ReadFile(path);
  return content ? *content : "(" + content.error().message + ")";
}

void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Runs `body` in a child, for what cannot be undone in a process; its exit code.
int InChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(AtomicFile, AppearsOnlyWhenItIsCommitted) {
  const TemporaryFolder folder;
  const std::string path = folder.File("out.json");
  auto file = AtomicFile::Create(path, Overwrite::kRefuse);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("one "));
  ASSERT_TRUE(file->Flush());
  EXPECT_FALSE(FileExists(path));
  EXPECT_EQ(ContentOf(path + ".partial"), "one ");
  ASSERT_TRUE(file->Write("two"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(ContentOf(path), "one two");
  EXPECT_FALSE(FileExists(path + ".partial"));
  EXPECT_EQ(file->bytes_written(), 7U);
}

TEST(AtomicFile, LeavesNothingBehindWhenItIsNotCommitted) {
  const TemporaryFolder folder;
  {
    auto file = AtomicFile::Create(folder.File("x"), Overwrite::kRefuse);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("half"));
  }
  EXPECT_TRUE(ListDirectory(folder.path()).empty());
}

TEST(AtomicFile, AnExistingOutputIsRefusedAndKept) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  Put(path, "old");
  const auto file = AtomicFile::Create(path, Overwrite::kRefuse);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(file.error().hint.find("--force"), std::string::npos);
  EXPECT_EQ(ContentOf(path), "old");
}

TEST(AtomicFile, ForceReplacesOnlyAtTheEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  Put(path, "old");
  auto file = AtomicFile::Create(path, Overwrite::kForce);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("new"));
  ASSERT_TRUE(file->Flush());
  EXPECT_EQ(ContentOf(path), "old");
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(ContentOf(path), "new");
}

TEST(AtomicFile, ALeftoverOfAKilledRunIsRefusedWithoutForce) {
  const TemporaryFolder folder;
  Put(folder.File("x.partial"), "precious");
  const auto file = AtomicFile::Create(folder.File("x"), Overwrite::kRefuse);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(ContentOf(folder.File("x.partial")), "precious");

  auto forced = AtomicFile::Create(folder.File("x"), Overwrite::kForce);
  ASSERT_TRUE(forced);
  ASSERT_TRUE(forced->Write("n"));
  ASSERT_TRUE(forced->Commit());
  EXPECT_EQ(ContentOf(folder.File("x")), "n");
}

TEST(AtomicFile, AFileThatCameMeanwhileIsNotReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  auto file = AtomicFile::Create(path, Overwrite::kRefuse);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("mine"));
  Put(path, "theirs");
  const auto committed = file->Commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(ContentOf(path), "theirs");
}

TEST(AtomicFile, AbandonLeavesThePartialFile) {
  const TemporaryFolder folder;
  {
    auto file = AtomicFile::Create(folder.File("x"), Overwrite::kRefuse);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("salvage me"));
    file->Abandon();
  }
  EXPECT_FALSE(FileExists(folder.File("x")));
  EXPECT_EQ(ContentOf(folder.File("x.partial")), "salvage me");
}

TEST(AtomicFile, WhatWasFlushedSurvivesAKill) {
  const TemporaryFolder folder;
  EXPECT_EQ(InChild([&] {
              auto file = AtomicFile::Create(folder.File("x"), Overwrite::kRefuse);
              (void)file->Write("flushed");
              (void)file->Flush();
              (void)file->Write(" lost");
              kill(getpid(), SIGKILL);
              return 0;
            }),
            -SIGKILL);
  EXPECT_FALSE(FileExists(folder.File("x")));
  EXPECT_EQ(ContentOf(folder.File("x.partial")), "flushed");
}

TEST(AtomicFile, AFileSizeLimitIsAnErrorAndLeavesNoHalfFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(InChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1000, 1000};
              setrlimit(RLIMIT_FSIZE, &limit);
              auto file = AtomicFile::Create(folder.File("x"), Overwrite::kRefuse);
              if (!file) return 2;
              (void)file->Write(std::string(5000, 'x'));
              const auto committed = file->Commit();
              if (committed || committed.error().code != ErrorCode::kIo) return 3;
              if (committed.error().hint.empty()) return 4;
              // The error stays: nobody may think that the rest was written.
              return file->Write("y") || file->Commit() ? 5 : 0;
            }),
            0);
  EXPECT_TRUE(ListDirectory(folder.path()).empty());
}

TEST(AtomicFile, AFullDeviceIsAnErrorAndTheDeviceStays) {
  struct stat before = {};
  if (stat("/dev/full", &before) != 0) GTEST_SKIP() << "no /dev/full on this machine";
  auto file = AtomicFile::Create("/dev/full", Overwrite::kRefuse);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->Write("x"));
  const auto committed = file->Commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::kIo);
  EXPECT_NE(committed.error().message.find("/dev/full"), std::string::npos);
  EXPECT_TRUE(FileExists("/dev/full"));
  EXPECT_FALSE(FileExists("/dev/full.partial"));
}

TEST(AtomicFile, TwoWritersOfOneNameNeverMix) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  auto first = AtomicFile::Create(path, Overwrite::kForce);
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->Write("mine") && first->Flush());
  EXPECT_EQ(InChild([&] {
              for (const Overwrite overwrite : {Overwrite::kForce, Overwrite::kRefuse}) {
                const auto second = AtomicFile::Create(path, overwrite);
                if (second || second.error().code != ErrorCode::kAlreadyExists) return 1;
                if (second.error().message != "another process is writing " + path) return 2;
                if (CheckWritable(path, overwrite)) return 3;
              }
              return 0;
            }),
            0);
  ASSERT_TRUE(first->Commit());
  EXPECT_EQ(ContentOf(path), "mine");
  EXPECT_TRUE(AtomicFile::Create(path, Overwrite::kForce));
}

TEST(AtomicFile, ManyForcedWritersLeaveOneWholeFile) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x");
  Put(path, std::string(100'000, 'a'));
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    for (int i = 0; i < 50; ++i) {
      const std::string text(static_cast<size_t>(100'000 + 10'000 * w), static_cast<char>('a' + w));
      (void)WriteFileAtomically(path, text, Overwrite::kForce);
      const std::string seen = ContentOf(path);
      const int writer = seen[0] - 'a';
      if (writer < 0 || writer > 3) _exit(1);
      if (seen != std::string(static_cast<size_t>(100'000 + 10'000 * writer), seen[0])) _exit(2);
    }
    _exit(0);
  }
  for (const pid_t pid : writers) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ListDirectory(folder.path()), std::vector<std::string>{"x"});
}

TEST(AtomicFile, ALinkAtThePartialNameIsNeverFollowed) {
  const TemporaryFolder folder;
  Put(folder.File("victim"), "precious");
  ASSERT_EQ(symlink("victim", folder.File("x.partial").c_str()), 0);
  EXPECT_FALSE(AtomicFile::Create(folder.File("x"), Overwrite::kRefuse));
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "new", Overwrite::kForce));
  EXPECT_EQ(ContentOf(folder.File("x")), "new");
  EXPECT_EQ(ContentOf(folder.File("victim")), "precious");
}

// Killed between link() and unlink(), a run leaves its whole file under both names.
TEST(AtomicFile, ALeftoverThatIsTheFinalFileIsNotEmptied) {
  const TemporaryFolder folder;
  Put(folder.File("x"), "whole");
  ASSERT_EQ(link(folder.File("x").c_str(), folder.File("x.partial").c_str()), 0);
  {
    const auto file = AtomicFile::Create(folder.File("x"), Overwrite::kForce);
    ASSERT_TRUE(file);
  }
  EXPECT_EQ(ContentOf(folder.File("x")), "whole");
}

TEST(AtomicFile, ForceWritesThroughALinkAndKeepsIt) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  Put(other.File("target"), "old");
  ASSERT_EQ(symlink(other.File("target").c_str(), folder.File("x").c_str()), 0);
  EXPECT_FALSE(CheckWritable(folder.File("x"), Overwrite::kRefuse));
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "new", Overwrite::kForce));
  struct stat info = {};
  ASSERT_EQ(lstat(folder.File("x").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_EQ(ContentOf(other.File("target")), "new");
}

TEST(AtomicFile, ALinkToNothingIsRefusedAndByForceReplaced) {
  const TemporaryFolder folder;
  ASSERT_EQ(symlink("nowhere", folder.File("x").c_str()), 0);
  const auto refused = CheckWritable(folder.File("x"), Overwrite::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(refused.error().message.find("link to nowhere"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "new", Overwrite::kForce));
  EXPECT_EQ(ListDirectory(folder.path()), std::vector<std::string>{"x"});
  EXPECT_EQ(ContentOf(folder.File("x")), "new");
}

TEST(AtomicFile, AReplacedFileKeepsItsPermissions) {
  const TemporaryFolder folder;
  Put(folder.File("x"), "old");
  ASSERT_EQ(chmod(folder.File("x").c_str(), 0640), 0);
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "new", Overwrite::kForce));
  struct stat info = {};
  ASSERT_EQ(stat(folder.File("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
}

TEST(AtomicFile, APipeNeedsAReader) {
  const TemporaryFolder folder;
  const std::string path = folder.File("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(InChild([&] {
              alarm(10);  // what is tested is that it does not wait
              const auto file = AtomicFile::Create(path, Overwrite::kRefuse);
              return !file && file.error().message.find("pipe") != std::string::npos ? 0 : 1;
            }),
            0);
  const OwnedFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto file = AtomicFile::Create(path, Overwrite::kRefuse);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->Write("through") && file->Commit());
  std::array<char, 16> bytes{};
  EXPECT_EQ(read(reader.get(), bytes.data(), bytes.size()), 7);
}

TEST(CheckWritable, FindsWhatWouldStopTheEnd) {
  const TemporaryFolder folder;
  Put(folder.File("m.pte"), "");
  const auto not_a_folder = CheckWritable(folder.File("m.pte/out"), Overwrite::kForce);
  ASSERT_FALSE(not_a_folder);
  EXPECT_EQ(not_a_folder.error().message, folder.File("m.pte") + " is not a folder");
  const auto deeper = CheckWritable(folder.File("m.pte/a/b"), Overwrite::kForce);
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().message, folder.File("m.pte") + " is not a folder");

  EXPECT_TRUE(CheckWritable(folder.File(std::string(247, 'n')), Overwrite::kRefuse));
  for (const size_t length : {248, 256, 5000}) {
    const auto too_long = CheckWritable(folder.File(std::string(length, 'n')), Overwrite::kRefuse);
    ASSERT_FALSE(too_long) << length;
    EXPECT_EQ(too_long.error().code, ErrorCode::kInvalidArgument) << too_long.error().message;
  }

  Put(folder.File("x.partial"), "left over");
  const auto left_over = CheckWritable(folder.File("x"), Overwrite::kRefuse);
  ASSERT_FALSE(left_over);
  EXPECT_EQ(left_over.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(CheckWritable(folder.File("x"), Overwrite::kForce));
}

TEST(CheckWritable, AClosedFolderIsNotAMissingOne) {
  const TemporaryFolder folder;
  const std::string closed = folder.File("closed");
  ASSERT_EQ(mkdir(closed.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((closed + "/inner").c_str(), 0777), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(closed.c_str(), 0000), 0);
  {
    const WithoutRoot nobody;
    for (const char* name : {"/x", "/inner/x"}) {
      const auto result = CheckWritable(closed + name, Overwrite::kForce);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().message,
                "cannot enter the folder " + closed + ": Permission denied");
    }
  }
  chmod(closed.c_str(), 0700);
}

TEST(CheckWritable, AFolderThatMayNotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(InChild([&] {
              if (geteuid() == 0) (void)!setuid(65534);  // root may write everywhere
              const auto result = CheckWritable(folder.File("x"), Overwrite::kRefuse);
              return !result && result.error().code == ErrorCode::kIo ? 0 : 1;
            }),
            0);
}

TEST(CheckWritable, WrongPathsSayWhatToDo) {
  const TemporaryFolder folder;
  const auto empty = CheckWritable("", Overwrite::kForce);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);

  const auto directory = CheckWritable(folder.path(), Overwrite::kForce);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);

  const auto missing = CheckWritable(folder.File("no/such"), Overwrite::kForce);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().hint.find("mkdir -p"), std::string::npos);
}

TEST(WriteFileAtomically, WritesAllOfALargeText) {
  const TemporaryFolder folder;
  const std::string text(3'000'001, 'q');
  ASSERT_TRUE(WriteFileAtomically(folder.File("big"), text, Overwrite::kRefuse));
  EXPECT_EQ(ContentOf(folder.File("big")), text);
}

}  // namespace
}  // namespace inferprobe::base
