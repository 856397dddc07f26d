#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "base/files.h"
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
