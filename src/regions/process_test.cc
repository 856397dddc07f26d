// What regions have to do with the rest of the process: the recorder's slices, and forks. Not on
// Windows, which has neither.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "inferprobe/parallel_for.h"
#include "inferprobe/recorder.h"
#include "inferprobe/region.h"
#include "inferprobe/scope.h"
#include "regions/gate.h"

namespace inferprobe {
namespace {

void Nothing(int64_t, int64_t) {}

TEST(OperatorSlice, IsTheInnermostOpenOneWhileARecorderRuns) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  {
    Result<Recorder> recorder = Recorder::Start();
    ASSERT_TRUE(recorder);
    {
      INFERPROBE_SCOPE("outer");
      {
        INFERPROBE_SCOPE("operator");
        ParallelFor(view, 1, 1, Nothing);
      }
      ParallelFor(view, 1, 1, Nothing);
    }
    ParallelFor(view, 1, 1, Nothing);
    const DrainedScopes drained = recorder->Drain();
    ASSERT_EQ(drained.scopes.size(), 2U);
    const ParallelRegionReport report = regions.Report();
    ASSERT_EQ(report.events.size(), 3U);
    EXPECT_EQ(report.events[0].operator_slice, drained.scopes[0].id);
    EXPECT_EQ(report.events[1].operator_slice, drained.scopes[1].id);
    EXPECT_FALSE(report.events[2].operator_slice.has_value());
    EXPECT_EQ(report.events[0].thread_id, drained.scopes[0].tid);
    // On one clock.
    EXPECT_LE(drained.scopes[0].start_ns, report.events[0].start_ns);
  }
  regions.Clear();
  ParallelFor(view, 1, 1, Nothing);
  EXPECT_FALSE(regions.Report().events[0].operator_slice.has_value());
}

TEST(Fork, TheChildHasAThreadIdOfItsOwn) {
  CpuExecutor executor(1);
  ParallelRegionCollector regions;
  const ExecutorView view(executor, &regions);
  ParallelFor(view, 1, 1, Nothing);  // asks for the parent's
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    regions.Clear();
    ParallelFor(view, 1, 1, Nothing);
    const ParallelRegionReport report = regions.Report();
    _exit(report.events[0].thread_id == getpid() &&
                  report.events[0].participants[0].thread_id == getpid()
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Bounded, also where it hangs: SIGALRM ends the child.
int StatusOfChild(void (*body)(CpuExecutor&), CpuExecutor& executor) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body(executor);
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Fork, InTheChildLoopsRunOnTheCallerAndTheExecutorGoesQuietly) {
  CpuExecutor executor(4);
  executor.Run(8, 1, Nothing);
  const auto use = [](CpuExecutor& parents) {
    ParallelRegionCollector regions;
    int64_t sum = 0;  // one thread: no lock
    ParallelFor(ExecutorView(parents, &regions), 100, 1,
                [&](int64_t begin, int64_t) { sum += begin; });
    const ParallelRegionReport report = regions.Report();
    if (sum != 4950 || parents.threads() != 1) _exit(1);
    if (report.events[0].requested_threads != 1 || report.events[0].admitted_threads != 1) _exit(2);
    parents.~CpuExecutor();  // NOLINT: the child's copy; it does not return
  };
  EXPECT_EQ(StatusOfChild(use, executor), 0);
  executor.Run(8, 1, Nothing);  // the parent's is what it was
  EXPECT_EQ(executor.threads(), 4);
}

TEST(Fork, InTheMiddleOfALoopTheCallersChildComesOut) {
  CpuExecutor executor(2);
  regions::Gate gate;
  regions::Gate forked;
  const std::thread::id caller = std::this_thread::get_id();
  pid_t child = -1;
  executor.Run(2, 1, [&](int64_t, int64_t) {
    gate.ArriveAndWaitFor(2);  // a chunk for each thread
    if (std::this_thread::get_id() != caller) {
      forked.WaitFor(1);  // in the child's memory this thread is in the loop for good
      return;
    }
    child = fork();
    if (child == 0) alarm(20);
    if (child != 0) forked.Arrive();
  });
  if (child == 0) _exit(0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace inferprobe
