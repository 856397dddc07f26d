// What regions have to do with the rest of the process: the recorder's slices, and forks. Not on
// Windows, which has neither.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inferprobe/parallel_for.h"
#include "inferprobe/recorder.h"
#include "inferprobe/region.h"
#include "inferprobe/scope.h"

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

}  // namespace
}  // namespace inferprobe
