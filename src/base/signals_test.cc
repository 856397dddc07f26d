#include "base/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

// Writes part of a file in a process of its own, and ends it by `signal`. Its wait status.
int EndWhileWriting(const std::string& path, int signal, void (*before)(int), Overwrite overwrite) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(signal, before);
    RemoveUnfinishedOnInterrupt();
    auto file = AtomicFile::Create(path, overwrite);
    if (!file || !file->Write("half") || !file->Flush()) _exit(2);
    // Moved, as writers do with theirs.
    const AtomicFile moved = std::move(*file);
    std::raise(signal);
    _exit(3);  // without destructors: the file stays unless the signal removed it
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(RemoveUnfinishedOnInterrupt, RemovesWhatWasBegunAndEndsAsTheSignalDoes) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const int status = EndWhileWriting(folder.File("x"), signal, SIG_DFL, Overwrite::kRefuse);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << signal;
  }
}

TEST(RemoveUnfinishedOnInterrupt, AFileThatWasToBeReplacedStays) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "whole", Overwrite::kRefuse));
  EndWhileWriting(folder.File("x"), SIGTERM, SIG_DFL, Overwrite::kForce);
  EXPECT_TRUE(std::filesystem::exists(folder.File("x")));
  EXPECT_FALSE(std::filesystem::exists(folder.File("x.partial")));
}

TEST(RemoveUnfinishedOnInterrupt, WhoStartedUsMayIgnoreTheSignal) {
  const TemporaryFolder folder;
  const int status = EndWhileWriting(folder.File("x"), SIGHUP, SIG_IGN, Overwrite::kRefuse);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(std::filesystem::exists(folder.File("x.partial")));
}

}  // namespace
}  // namespace inferprobe::base
